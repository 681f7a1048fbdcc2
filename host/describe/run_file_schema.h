// A JSON schema of run files and component parameters, for completion and checks in editors.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "framework/config/values/component_schema.h"

namespace tenon::host {

// Uses JSON Schema draft 7, which TOML editors support: https://json-schema.org/draft-07
nlohmann::ordered_json make_run_file_schema(const std::vector<config::ComponentSchema>& components);

}  // namespace tenon::host
