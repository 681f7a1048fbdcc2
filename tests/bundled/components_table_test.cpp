// Compares plugins/components.txt with the notes of the plugins. scripts/run uses it to find the plugins of a run file.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/tensors/tensor_functions.h"

using Components = std::map<std::string, std::set<std::string>>;  // component ids by plugin file name, without .so

TEST_CASE("plugins/components.txt lists the components of every bundled plugin") {
  Components listed;
  std::ifstream table(TENON_SOURCE_DIR "/plugins/components.txt");
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string plugin;
    words >> plugin;
    for (std::string id; words >> id;) listed[plugin].insert(id);
  }
  tenon::components::install_libtorch();  // provides the operators that the notes list
  const auto found = tenon::components::survey_notes({TENON_BINARY_DIR "/plugins"}, tenon::components::host_table(),
                                                     tenon::components::torch_build());
  Components noted;
  for (const tenon::components::PluginInfo& plugin : found.plugins)
    for (const auto& component : plugin.components) noted[plugin.file.stem()].insert(component.id);
  CHECK(found.without_note.empty());
  CHECK(found.plugins.size() >= 40);
  CHECK(listed == noted);
}
