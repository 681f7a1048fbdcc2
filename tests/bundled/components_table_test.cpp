// Compares plugins/components.txt with the notes of the plugins. scripts/run uses it to find the plugins of a run file.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "framework/plugins/calls/host_table.h"
#include "framework/plugins/loading/survey_notes.h"
#include "framework/plugins/tensors/tensor_functions.h"

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
  tenon::plugins::install_libtorch();  // provides the operators that the notes list
  const auto found = tenon::plugins::survey_notes({TENON_BINARY_DIR "/plugins"}, tenon::plugins::host_table(),
                                                  tenon::plugins::torch_build());
  Components noted;
  for (const tenon::plugins::PluginInfo& plugin : found.plugins)
    for (const auto& component : plugin.components) noted[plugin.file.stem()].insert(component.id);
  CHECK(found.without_note.empty());
  CHECK(found.plugins.size() >= 40);
  CHECK(listed == noted);
}
