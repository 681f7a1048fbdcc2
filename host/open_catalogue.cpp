#include "host/open_catalogue.h"

#include <filesystem>

#include "framework/config/resolve_run_plan.h"
#include "framework/plugins/host_table.h"
#include "framework/plugins/tensor_functions.h"

namespace tenon::host {

plugins::Catalogue open_catalogue(const CommandLine& line, const config::RunConfig& config) {
  plugins::install_libtorch();
  const auto directories = plugins::find_plugin_directories(
      line.plugin_directories, config::resolve_plugin_paths(config), std::filesystem::read_symlink("/proc/self/exe"));
  return plugins::Catalogue::open(directories, plugins::host_table(), plugins::torch_build(),
                                  config::resolve_plugin_pins(config));
}

}  // namespace tenon::host
