// What plugins say of themselves in the notes of their files. No code of theirs runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/plugins/component.h"
#include "framework/plugins/plugin_files.h"

namespace tenon::plugins {

struct PluginsFound {
  std::vector<PluginInfo> plugins;                  // in the order of their files
  std::vector<std::filesystem::path> without_note;  // sound files as far as can be seen; what they are is not known
  std::vector<Refusal> refusals;
};

// Of all *.so of the directories (and files named directly). A file is refused as a run would refuse it, for all that
// can be known without running it: what inspect_library.h says, versions, LibTorch, operators, an id that another file
// has already.
PluginsFound survey_notes(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                          const std::string& torch_build);

}  // namespace tenon::plugins
