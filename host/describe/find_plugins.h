// Finds the plugins of the search folders for `host plugins` and `host describe`.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "framework/components/loading/catalogue.h"
#include "host/command_line/command.h"

namespace tenon::host {

struct SurveyedPlugins {
  std::vector<std::filesystem::path> directories;
  components::PluginsFound found;
  std::optional<components::Catalogue> loaded;  // with --load
};

// Reads the notes in the files, so that no plugin code runs. With --load it loads the plugins.
SurveyedPlugins survey_plugins(const Arguments& arguments);

// Reads the notes in the files of these folders and of those that the host always searches.
components::PluginsFound survey_notes(const std::vector<std::filesystem::path>& plugin_directories);

// --plugin-dir, --load and --json.
void add_survey_options(AddOption& add);

}  // namespace tenon::host
