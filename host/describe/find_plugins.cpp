#include "host/describe/find_plugins.h"

#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/support/files/installation.h"
#include "host/process/call_reports.h"
#include "host/process/process_setup.h"

namespace tenon::host {

components::PluginsFound survey_notes(const std::vector<std::filesystem::path>& plugin_directories) {
  components::install_libtorch();
  return components::survey_notes(
      components::find_plugin_directories(plugin_directories, {}, support::find_installation()),
      components::host_table(), components::torch_build());
}

SurveyedPlugins survey_plugins(const Arguments& arguments) {
  start_call_reports();
  components::install_libtorch();
  SurveyedPlugins surveyed;
  surveyed.directories =
      components::find_plugin_directories(arguments.plugin_directories(), {}, support::find_installation());
  if (!arguments.has("load")) {
    surveyed.found =
        components::survey_notes(surveyed.directories, components::host_table(), components::torch_build());
    return surveyed;
  }
  surveyed.loaded = components::Catalogue::survey(surveyed.directories, components::host_table(),
                                                  components::torch_build(), surveyed.found.refusals);
  restore_standard_streams();
  for (const auto& plugin : surveyed.loaded->plugins()) surveyed.found.plugins.push_back(*plugin);
  return surveyed;
}

void add_survey_options(AddOption& add) {
  add("load", "load the plugins, which runs their code, instead of reading the notes in their files");
  add_plugin_directory_option(add);
  add_json_option(add);
}

}  // namespace tenon::host
