// An example of a component in a run file.
#pragma once

#include <string>

#include "framework/config/toml/toml_tree.h"
#include "framework/config/values/component_schema.h"

namespace tenon::host {

// Returns a section of a run file with the component, the given parameters and the required ones.
std::string make_example(const config::ComponentSchema& schema, const config::Node::Table& given);

}  // namespace tenon::host
