// Finds the plugins of the search folders for `host plugins` and `host describe`.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "framework/components/loading/catalogue.h"
#include "framework/components/loading/survey_notes.h"
#include "host/command_line/arguments.h"

namespace tenon::host {

struct SurveyedPlugins {
  std::vector<std::filesystem::path> directories;
  components::PluginsFound found;
  std::optional<components::Catalogue> loaded;  // with --load
};

// Reads the notes in the files, so that no plugin code runs. With --load it loads the plugins.
SurveyedPlugins survey_plugins(const Arguments& arguments);

// --plugin-dir, --load and --json.
po::options_description make_survey_options();

}  // namespace tenon::host
