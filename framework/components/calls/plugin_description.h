// A plugin's description of itself. It is read from the tables of a loaded plugin, or from the note in its file without
// running any of its code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/config/values/component_schema.h"

namespace tenon::components {

struct PluginDescription {
  std::string id;
  std::string version;
  std::string license;
  std::string doc;
  std::string torch_build = {};             // empty: a portable plugin
  std::vector<std::string> operators = {};  // the ATen operators that it declares: "aten::add.Tensor"
  uint32_t abi_min = 0;                     // the ABI versions that it supports
  uint32_t abi_max = 0;
  std::vector<config::ComponentSchema> components = {};  // in the plugin's order

  bool operator==(const PluginDescription&) const = default;
};

}  // namespace tenon::components
