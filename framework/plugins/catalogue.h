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
#include "framework/plugins/plugin_files.h"

namespace tenon::plugins {

class Catalogue final : public config::SchemaSource {
 public:
  // Opens every *.so of the directories (and files named directly), in byte order of their names.
  // `torch_build`: the LibTorch of this host, which native plugins must match exactly; see native_torch.h.
  // `pins`: what files of these names must be, wherever they lie; other files are opened all the same.
  // All files are looked at and compared with their pins before code of any of them runs; see inspect_library.h.
  // Throws Error(plugin) for the first file that is not a sound plugin, not what it is pinned to or not what its note
  // says, for a pin of no file, and for two components of one kind and id.
  static Catalogue open(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                        const std::string& torch_build, const std::vector<config::PluginPin>& pins = {});

  // The same for someone who wants to see what is there: a file that is refused is noted, and the others are opened.
  using Refusal = plugins::Refusal;
  static Catalogue survey(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                          const std::string& torch_build, std::vector<Refusal>& refusals);

  // Throws Error(plugin) if there is none; resolve_run_plan has checked before that there is.
  const Component& find(config::ComponentKind kind, const std::string& id) const;

  const std::vector<std::unique_ptr<PluginInfo>>& plugins() const { return plugins_; }

  const config::ComponentSchema* find_schema(config::ComponentKind kind, const std::string& id) const override;
  std::vector<std::string> component_ids(config::ComponentKind kind) const override;
  std::string describe_search() const override;

 private:
  void add_file(const PluginFile& file, const tenon_host& host, const std::string& torch_build);
  void require_new(const Component& component) const;

  std::vector<std::filesystem::path> directories_;
  std::vector<std::unique_ptr<PluginInfo>> plugins_;
  std::map<std::pair<config::ComponentKind, std::string>, Component> components_;
};

}  // namespace tenon::plugins
