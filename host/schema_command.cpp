#include "host/schema_command.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "framework/plugins/host_table.h"
#include "framework/plugins/plugin_files.h"
#include "framework/plugins/survey_notes.h"
#include "framework/plugins/tensor_functions.h"
#include "host/run_file_schema.h"
#include "host/standard_streams.h"

namespace tenon::host {

int print_schema(const CommandLine& line) {
  plugins::install_libtorch();
  const auto directories =
      plugins::find_plugin_directories(line.plugin_directories, {}, std::filesystem::read_symlink("/proc/self/exe"));
  std::vector<config::ComponentSchema> components;
  for (const plugins::PluginInfo& plugin :
       plugins::survey_notes(directories, plugins::host_table(), plugins::torch_build()).plugins)
    components.insert(components.end(), plugin.components.begin(), plugin.components.end());
  const nlohmann::ordered_json schema = make_run_file_schema(components);
  write_output_json(schema, 1);
  return 0;
}

}  // namespace tenon::host
