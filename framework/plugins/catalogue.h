// The components of the plugins that were found: by the notes of their files, and once a plugin is opened, its tables,
// checked before any of their functions but the entry is called.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/config/run_plan.h"
#include "framework/plugins/component.h"
#include "framework/plugins/plugin_files.h"

namespace tenon::plugins {

class Catalogue final : public config::SchemaSource {
 public:
  // Looks at every *.so of the directories (and files named directly), in byte order of their names, and opens those
  // without a note, which nothing is known of before. All files are looked at and compared with their pins before code
  // of any of them runs; see inspect_library.h.
  // `torch_build`: the LibTorch of this host, which native plugins must match exactly; see native_torch.h.
  // `pins`: what files of these names must be, wherever they lie; the others are as they are.
  // Throws Error(plugin) for the first file that cannot be a sound plugin of this host, or is not what it is pinned to,
  // for a pin of no file, and for two components of one kind and id.
  static Catalogue look(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                        const std::string& torch_build, const std::vector<config::PluginPin>& pins = {});

  // Opens the plugins of these components; what else lies in the directories costs a run nothing, and cannot harm it.
  // Throws Error(plugin) for one that is not a sound plugin, or not what its note says.
  void open_plugins_of(const std::vector<config::ComponentName>& components);

  // The two in one, of all plugins.
  static Catalogue open(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                        const std::string& torch_build, const std::vector<config::PluginPin>& pins = {});

  // The same for someone who wants to see what is there: a file that is refused is noted, and the others are opened.
  using Refusal = plugins::Refusal;
  static Catalogue survey(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                          const std::string& torch_build, std::vector<Refusal>& refusals);

  // Of an opened plugin. Throws Error(plugin) if there is none; resolve_run_plan has checked before that there is.
  const Component& find(config::ComponentKind kind, const std::string& id) const;

  // Those that were opened.
  const std::vector<std::unique_ptr<PluginInfo>>& plugins() const { return plugins_; }

  const config::ComponentSchema* find_schema(config::ComponentKind kind, const std::string& id) const override;
  std::vector<std::string> component_ids(config::ComponentKind kind) const override;
  std::string describe_search() const override;

 private:
  Catalogue(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
            const std::string& torch_build);
  void open_file(const PluginFile& file);  // one that fits by its note, where it has one
  void require_new(const config::ComponentName& name, const std::filesystem::path& file) const;

  std::vector<std::filesystem::path> directories_;
  const tenon_host* host_;
  std::string torch_build_;
  std::vector<std::unique_ptr<PluginInfo>> plugins_;
  std::map<config::ComponentName, Component> components_;
  std::vector<PluginFile> closed_;  // with notes, and in their order
};

}  // namespace tenon::plugins
