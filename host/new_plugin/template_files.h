// The files of a new plugin project, which are compiled into the host.
#pragma once

#include <string_view>

#include "framework/config/values/component_schema.h"

namespace tenon::host {

// Each uses the name `my_name` and the class `MyName`.
struct PluginTemplate {
  std::string_view source;    // C++
  std::string_view run_file;  // uses the component with bundled ones
};

const PluginTemplate& find_template(config::ComponentKind kind);
std::string_view cmake_template();

}  // namespace tenon::host
