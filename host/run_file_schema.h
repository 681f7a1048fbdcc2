// A run file's keys and the parameters of components as a JSON schema, by which editors complete and check.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "framework/config/component_schema.h"

namespace tenon::host {

// JSON Schema, draft 7, which is what editors of TOML read: https://json-schema.org/draft-07
nlohmann::ordered_json make_run_file_schema(const std::vector<config::ComponentSchema>& components);

}  // namespace tenon::host
