#include "framework/config/resolve/resolve_choice.h"

#include "framework/config/resolve/resolve_params.h"
#include "framework/formats/nearest_name.h"

namespace tenon::config {

std::optional<Values> resolve_choice(const ComponentConfig& config, const std::string& what,
                                     const std::vector<BuiltInSchema>& schemas, const std::string& id,
                                     const Resolving& resolving) {
  std::vector<std::string> ids;
  for (const BuiltInSchema& schema : schemas) {
    ids.push_back(schema.id);
    if (schema.id != id) continue;
    Values values = resolve_params({id, schema.params, config.params, config.path, config.place, resolving.config},
                                   resolving.diagnostics);
    const bool is_complete = values.size() == schema.params.size();
    return is_complete ? std::optional(std::move(values)) : std::nullopt;
  }
  const std::string found = config.use.value ? to_toml(id) : "missing";
  resolving.diagnostics.add(config.use.place, config.path + ".use is " + found + "; expected a built-in " + what +
                                                  formats::suggest_name(id, ids));
  return std::nullopt;
}

}  // namespace tenon::config
