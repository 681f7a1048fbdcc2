#include "host/describe/find_plugins.h"

#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/support/files/files.h"
#include "host/process/call_reports.h"
#include "host/process/standard_streams.h"

namespace tenon::host {

SurveyedPlugins survey_plugins(const Arguments& arguments) {
  start_call_reports();
  components::install_libtorch();
  SurveyedPlugins surveyed;
  surveyed.directories =
      components::find_plugin_directories(arguments.plugin_directories(), {}, support::find_program_file());
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

po::options_description make_survey_options() {
  po::options_description options = no_options();
  options.add_options()("load", "load the plugins, which runs their code, instead of reading the notes in their files");
  add_plugin_directory_option(options);
  add_json_option(options);
  return options;
}

}  // namespace tenon::host
