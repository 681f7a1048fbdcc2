// The components of the plugins that were found. Unopened plugins are known by the notes in their files. The tables of
// an opened plugin are checked before any function except the entry is called.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/components/calls/component.h"
#include "framework/components/loading/plugin_files.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::components {

class Catalogue final : public config::SchemaSource {
 public:
  // Inspects every *.so of the directories (and files named directly), in byte order of their names. Opens the files
  // without a note, since nothing else describes them. Inspects all files and compares them with their pins before it
  // runs code of any of them; see plugin_files.h.
  // `torch_build`: the LibTorch of this host, which native plugins must match; see native_torch.h.
  // `pins`: the digests of files with these names, in any directory. Other files are not pinned.
  // Throws Error(plugin) for the first file that cannot be a valid plugin of this host or does not match its pin, and
  // for a pin without a file. Two plugins may have components of the same kind and id: only a run that uses it is
  // refused. So is a run that uses a plugin with a note for another LibTorch; other runs ignore it.
  static Catalogue look(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                        const std::string& torch_build, const std::vector<config::PluginPin>& pins = {});

  // Opens the plugins of these components. Other files in the directories cost a run nothing and cannot harm it. Throws
  // Error(plugin) for a file that is not a valid plugin or does not match its note.
  void open_plugins_of(const std::vector<config::ComponentName>& components);

  // Runs look() and opens all plugins. Throws Error(plugin) if two components have the same kind and id.
  static Catalogue open(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                        const std::string& torch_build, const std::vector<config::PluginPin>& pins = {});

  // As open(), for listings: records each refused file and opens the others.
  static Catalogue survey(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                          const std::string& torch_build, std::vector<Refusal>& refusals);

  // Finds a component of an opened plugin. Throws Error(plugin) if there is none, which resolve_run_plan checks
  // earlier.
  const Component& find(config::ComponentKind kind, const std::string& id) const;

  // The opened plugins.
  const std::vector<std::unique_ptr<PluginInfo>>& plugins() const { return plugins_; }

  // Throws Error(plugin) if two plugins have such a component, or only one that was built with another LibTorch.
  const config::ComponentSchema* find_schema(config::ComponentKind kind, const std::string& id) const override;
  std::vector<std::string> component_ids(config::ComponentKind kind) const override;  // without those in two plugins
  std::string describe_search() const override;

 private:
  Catalogue(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
            const std::string& torch_build);
  enum class Duplicates { refuse, remember };
  void open_file(const PluginFile& file, Duplicates duplicates);  // the file's note, if any, must fit this host
  // The other file that has such a component; null if there is none.
  const std::filesystem::path* find_owner(const config::ComponentName& name) const;
  void remember_duplicate(const config::ComponentName& name, const std::filesystem::path& file);
  void require_single(const config::ComponentName& name) const;  // throws Error(plugin) if two plugins have it

  std::vector<std::filesystem::path> directories_;
  const tenon_host* host_;
  std::string torch_build_;
  std::vector<std::unique_ptr<PluginInfo>> plugins_;
  std::map<config::ComponentName, Component> components_;
  std::vector<PluginFile> closed_;  // files with notes that are not opened, in order
  std::vector<PluginFile> unfit_;   // files with notes for another LibTorch
  std::map<config::ComponentName, std::pair<std::filesystem::path, std::filesystem::path>> duplicates_;
};

// What the notes in the files of plugins describe, without running any of their code.
struct PluginsFound {
  std::vector<PluginInfo> plugins;                  // in the order of their files
  std::vector<std::filesystem::path> without_note;  // valid libraries with unknown components
  std::vector<Refusal> refusals;
};

// Surveys all *.so of the directories (and files named directly). Refuses a file that a run would refuse, as far as
// this is known without running its code: the checks of inspect_library(), versions, LibTorch, operators, an id that
// another file already has.
PluginsFound survey_notes(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                          const std::string& torch_build);

}  // namespace tenon::components
