#include "framework/components/kinds/missing_paths.h"

#include <filesystem>
#include <variant>

#include "framework/support/files/files.h"
#include "framework/support/files/nearest_path.h"

namespace tenon::components {

std::string suggest_paths(const Component& component, const config::ComponentPlan& plan, const std::string& message) {
  for (const config::ParamSchema& param : component.schema.params) {
    const auto value = plan.params.find(param.name);
    if (param.type != config::ParamType::path || value == plan.params.end()) continue;
    const auto* const path = std::get_if<std::string>(&value->second);
    if (!path || path->empty() || support::path_exists(*path) || message.find(*path) == message.npos) continue;
    const std::string home = "/~/";  // the path is absolute
    if (const size_t at = path->find(home); at != path->npos)
      return "; a run file does not replace ~: write \"${HOME}/" + path->substr(at + home.size()) + "\"";
    if (path->find('\\') != path->npos) return "; the path has backslashes; expected / between folders";
    return support::suggest_path(*path, support::path_exists);
  }
  return "";
}

}  // namespace tenon::components
