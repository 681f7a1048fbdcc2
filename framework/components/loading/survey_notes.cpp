#include "framework/components/loading/survey_notes.h"

#include <map>
#include <utility>

#include "framework/components/loading/load_plugin.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::components {

namespace fs = std::filesystem;
using config::ComponentSchema;

PluginsFound survey_notes(const std::vector<fs::path>& directories, const tenon_host& host,
                          const std::string& torch_build) {
  PluginsFound found;
  std::map<config::ComponentName, fs::path> owners;
  for (const fs::path& path : list_plugin_files(directories)) {
    try {
      const PluginFile file = inspect_plugin_file(path);
      if (!file.note) {
        found.without_note.push_back(path);
        continue;
      }
      const uint32_t abi = require_fitting(file, *file.note, host, torch_build);
      for (const ComponentSchema& component : file.note->components)
        if (const auto owner = owners.find({component.kind, component.id}); owner != owners.end())
          throw_in_two_plugins(component.kind, component.id, owner->second, path);
      for (const ComponentSchema& component : file.note->components)
        owners.emplace(config::ComponentName{component.kind, component.id}, path);
      found.plugins.push_back({*file.note, path, read_plugin_sha256(path), abi});
    } catch (const support::Error& error) {
      found.refusals.push_back({path, error.what()});
    }
  }
  return found;
}

}  // namespace tenon::components
