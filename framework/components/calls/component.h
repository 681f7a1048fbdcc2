// A component in the catalogue: its schema, its table and its plugin.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <tenon/plugin.h>

#include "framework/components/calls/plugin_description.h"

namespace tenon::components {

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
