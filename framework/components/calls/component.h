// A component in the catalogue: its schema, its table and its plugin.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.h>

#include "framework/config/values/component_schema.h"

namespace tenon::components {

// A plugin's description of itself. It is read from the tables of a loaded plugin, or from the note in its file without
// running any of its code.
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

struct PluginInfo : PluginDescription {
  std::filesystem::path file;  // canonical
  std::string sha256;
  uint32_t abi;  // the negotiated version
};

struct Component {
  config::ComponentSchema schema;
  const void* table;  // tenon_model, tenon_dataset, ... by schema.kind; checked
  const PluginInfo* plugin;
  decltype(tenon_component::get_extension) get_extension = nullptr;  // null: no extensions

  std::string describe() const;  // `dataset "digits" of plugin digits 0.1.0`
};

inline std::string to_string(tenon_string text) { return {text.data ? text.data : "", text.size}; }
inline tenon_string to_tenon(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace tenon::components
