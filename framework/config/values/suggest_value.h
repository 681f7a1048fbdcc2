// "Did you mean ...?" for values of the run file that do not match their schema.
#pragma once

#include <string>

#include "framework/config/toml/toml_tree.h"
#include "framework/config/values/component_schema.h"
#include "framework/config/values/period.h"

namespace tenon::config {

// Returns `; write 64` for a value in another notation ("64", 64.0, True, 64 for [64]), `; did you mean "train"?` for a
// word that is near one of the choices or is one of other trainers ("float16"), or "".
std::string suggest_value(const Node& node, const ParamSchema& schema);

// Returns `; did you mean "100 steps"?` for 100, "100" or "100 step", or "".
std::string suggest_period(const Node& node, Fractions fractions);

// Returns `; did you mean "50%"?` for 0.5, "0.5", 50 or "50", or "".
std::string suggest_subset(const Node& node);

// Returns `; did you mean "cuda"?` for "gpu", or "".
std::string suggest_device(const Node& node);

}  // namespace tenon::config
