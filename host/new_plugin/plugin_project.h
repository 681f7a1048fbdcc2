// A new plugin project: its name and its files.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "framework/config/values/component_schema.h"

namespace tenon::host {

struct NameFault {
  std::string found;     // "is a target of CMake"
  std::string expected;  // "another name, such as test_plugin"
};

// Returns why the name cannot name a component, a CMake target and a file. None: it can.
std::optional<NameFault> find_plugin_name_fault(const std::string& name);

// Returns "EdgeLoss" for "edge_loss".
std::string make_class_name(const std::string& name);

// What a component reads: nothing, or image files with the transforms of the run file. The latter is for datasets.
enum class PluginTemplate { plain, images };

// Returns the contents of each file by its name: CMakeLists.txt, NAME.cpp and NAME.toml; for images and
// transforms also some drawn images, with lists of them or in folders of their classes.
std::map<std::string, std::string> make_plugin_project(const std::string& name, config::ComponentKind kind,
                                                       PluginTemplate chosen = PluginTemplate::plain);

}  // namespace tenon::host
