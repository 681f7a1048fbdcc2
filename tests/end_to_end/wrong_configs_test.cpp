// Reads and resolves every file of tests/fixtures/wrong_configs with the bundled plugins, as the host does.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/config/file/read_run_config.h"
#include "framework/config/resolve/resolve_run_plan.h"
#include "framework/support/diagnostics/error.h"

namespace fs = std::filesystem;
using namespace tenon;

namespace {

components::Catalogue find_plugins(const std::vector<fs::path>& more, const std::vector<config::PluginPin>& pins) {
  std::vector<fs::path> directories = more;
  directories.emplace_back(TENON_BINARY_DIR "/plugins");
  return components::Catalogue::look(directories, components::host_table(), components::torch_build(), pins);
}

// The bundled plugins. They are inspected once.
const components::Catalogue& bundled_plugins() {
  static const components::Catalogue found = [] {
    components::install_libtorch();
    return find_plugins({}, {});
  }();
  return found;
}

void resolve(const fs::path& file) {
  const config::RunConfig config = config::read_run_config(file, {});
  const components::Catalogue& bundled = bundled_plugins();
  const std::vector<fs::path> paths = config::resolve_plugin_paths(config);
  const std::vector<config::PluginPin> pins = config::resolve_plugin_pins(config);
  if (paths.empty() && pins.empty())
    config::resolve_run_plan(config, bundled);
  else
    config::resolve_run_plan(config, find_plugins(paths, pins));
}

}  // namespace

TEST_CASE("every wrong run file is refused with the expected message") {
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(TENON_SOURCE_DIR "/tests/fixtures/wrong_configs")) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    CAPTURE(entry.path().filename().string());
    std::string message = "accepted";
    std::optional<support::ErrorKind> kind;
    try {
      resolve(entry.path());
    } catch (const support::Error& error) {
      message = error.what();
      kind = error.kind();
    }
    CAPTURE(message);
    CHECK(kind == support::ErrorKind::configuration);
    std::ifstream lines(entry.path());
    const std::string marker = "# expect: ";
    for (std::string line; std::getline(lines, line) && line.starts_with(marker);)
      CHECK(message.find(line.substr(marker.size())) != std::string::npos);
  }
  CHECK(count >= 40);
}
