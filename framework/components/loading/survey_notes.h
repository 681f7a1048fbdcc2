// Reads the descriptions of plugins from the notes in their files, without running any of their code.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/components/calls/component.h"
#include "framework/components/loading/plugin_files.h"

namespace tenon::components {

struct PluginsFound {
  std::vector<PluginInfo> plugins;                  // in the order of their files
  std::vector<std::filesystem::path> without_note;  // valid libraries with unknown components
  std::vector<Refusal> refusals;
};

// Surveys all *.so of the directories (and files named directly). Refuses a file that a run would refuse, as far as
// this is known without running its code: the checks of inspect_library.h, versions, LibTorch, operators, an id that
// another file already has.
PluginsFound survey_notes(const std::vector<std::filesystem::path>& directories, const tenon_host& host,
                          const std::string& torch_build);

}  // namespace tenon::components
