// `host schema`: prints a JSON schema of run files.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/plugin_files.h"
#include "framework/components/loading/survey_notes.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/files/files.h"
#include "host/command_line/command.h"
#include "host/describe/run_file_schema.h"

namespace tenon::host {

namespace {

po::options_description make_schema_options() {
  po::options_description options = no_options();
  add_plugin_directory_option(options);
  return options;
}

int print_schema(const Arguments& arguments) {
  components::install_libtorch();
  const auto directories =
      components::find_plugin_directories(arguments.plugin_directories(), {}, support::find_program_file());
  std::vector<config::ComponentSchema> components;
  for (const components::PluginInfo& plugin :
       components::survey_notes(directories, components::host_table(), components::torch_build()).plugins)
    components.insert(components.end(), plugin.components.begin(), plugin.components.end());
  const nlohmann::ordered_json schema = make_run_file_schema(components);
  reporting::write_output_json(schema, 1);
  return 0;
}

}  // namespace

extern const Command schema_command{.name = "schema",
                                    .arguments = "",
                                    .needed = "",
                                    .purpose = "print a JSON schema of run files for editors",
                                    .details =
                                        "Prints a JSON schema of run files with the parameters of all plugins found. "
                                        "Editors use it to complete and check run files.",
                                    .page = "guides/editors.md",
                                    .make_options = make_schema_options,
                                    .run = print_schema};

}  // namespace tenon::host
