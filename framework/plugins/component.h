// A component as the catalogue holds it: its schema, its table, and the plugin it came from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <tenon/plugin.h>

#include "framework/config/component_schema.h"

namespace tenon::plugins {

struct PluginInfo {
  std::string id;
  std::string version;
  std::string license;
  std::string doc;
  std::string torch_build;     // empty: portable
  std::filesystem::path file;  // canonical
  std::string sha256;
  uint32_t abi;  // the version chosen with it
};

struct Component {
  config::ComponentSchema schema;
  const void* table;  // tenon_model, tenon_dataset, ... by schema.kind; checked
  const PluginInfo* plugin;

  std::string describe() const;  // `dataset "digits" of plugin digits 0.1.0`
};

inline std::string to_string(tenon_string text) { return {text.data ? text.data : "", text.size}; }
inline tenon_string to_tenon(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace tenon::plugins
