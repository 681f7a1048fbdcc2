// Every component of the plugins that were found, checked before any of their functions but the entry is called.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/run_plan.h"
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
  // `pins`: what files of these names must be, wherever they lie; other files are opened all the same.
  // All files are looked at and compared with their pins before code of any of them runs; see inspect_library.h.
  // Throws Error(plugin) for the first file that is not a sound plugin or not what it is pinned to, for a pin of no
  // file, and for two components of one kind and id.
  static Catalogue open(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                        const std::string& torch_build, const std::vector<config::PluginPin>& pins = {});

  // The same for someone who wants to see what is there: a file that is refused is noted, and the others are opened.
  struct Refusal {
    std::filesystem::path file;
    std::string reason;  // names the file
  };
  static Catalogue survey(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                          const std::string& torch_build, std::vector<Refusal>& refusals);

  // Throws Error(plugin) if there is none; resolve_run_plan has checked before that there is.
  const Component& find(config::ComponentKind kind, const std::string& id) const;

  const std::vector<std::unique_ptr<PluginInfo>>& plugins() const { return plugins_; }

  const config::ComponentSchema* find_schema(config::ComponentKind kind, const std::string& id) const override;
  std::vector<std::string> component_ids(config::ComponentKind kind) const override;
  std::string describe_search() const override;

 private:
  // A file that may be opened.
  struct InspectedFile {
    std::filesystem::path file;
    std::string sha256;
    std::vector<std::string> libtorch;  // the libraries of LibTorch that it links
  };
  static InspectedFile inspect_file(const std::filesystem::path& file, const std::vector<config::PluginPin>& pins);
  void add_file(const InspectedFile& inspected, const tenon_host& host, const std::string& torch_build);
  void require_new(const Component& component) const;

  std::vector<std::filesystem::path> directories_;
  std::vector<std::unique_ptr<PluginInfo>> plugins_;
  std::map<std::pair<config::ComponentKind, std::string>, Component> components_;
};

}  // namespace tenon::plugins
