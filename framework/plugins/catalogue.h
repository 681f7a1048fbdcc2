// Every component of the plugins that were found, checked before any of their functions but the entry is called.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/plugins/component.h"

namespace tenon::plugins {

// In the order of precedence: --plugin-dir, the run file's [plugins] paths, $TENON_PLUGIN_PATH (colon-separated), the
// user's library directory (~/.local/lib/tenon/plugins), the system's (<prefix>/lib/tenon/plugins beside the host's
// bin) and the directory `plugins` beside the host's bin (a build tree). Canonical, without repetitions; directories
// that the user named must exist, the others are skipped where they do not. Throws Error(plugin) for a named one that
// does not.
std::vector<std::filesystem::path> find_plugin_directories(const std::vector<std::filesystem::path>& from_command_line,
                                                           const std::vector<std::filesystem::path>& from_run_file,
                                                           const std::filesystem::path& host_executable);

class Catalogue final : public config::SchemaSource {
 public:
  // Opens every *.so of the directories (and files named directly), in byte order of their names.
  // `torch_build`: the LibTorch of this host, which native plugins must match exactly; see native_torch.h.
  // Throws Error(plugin) for the first file that is not a sound plugin, and for two components of one kind and id.
  static Catalogue open(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                        const std::string& torch_build);

  // Throws Error(plugin) if there is none; resolve_run_plan has checked before that there is.
  const Component& find(config::ComponentKind kind, const std::string& id) const;

  const std::vector<std::unique_ptr<PluginInfo>>& plugins() const { return plugins_; }

  const config::ComponentSchema* find_schema(config::ComponentKind kind, const std::string& id) const override;
  std::vector<std::string> component_ids(config::ComponentKind kind) const override;
  std::string describe_search() const override;

 private:
  void add_file(const std::filesystem::path& file, const tenon_host& host, const std::string& torch_build);
  void add_component(Component component);

  std::vector<std::filesystem::path> directories_;
  std::vector<std::unique_ptr<PluginInfo>> plugins_;
  std::map<std::pair<config::ComponentKind, std::string>, Component> components_;
};

}  // namespace tenon::plugins
