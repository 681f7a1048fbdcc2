// What a plugin says of itself. Its tables say it once it is loaded, the note in its file without running any of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/config/component_schema.h"

namespace tenon::plugins {

struct PluginDescription {
  std::string id;
  std::string version;
  std::string license;
  std::string doc;
  std::string torch_build = {};             // empty: portable
  std::vector<std::string> operators = {};  // of ATen, that it says it calls: "aten::add.Tensor"
  uint32_t abi_min = 0;                     // the versions of the contract that it speaks
  uint32_t abi_max = 0;
  std::vector<config::ComponentSchema> components = {};  // in its own order

  bool operator==(const PluginDescription&) const = default;
};

}  // namespace tenon::plugins
