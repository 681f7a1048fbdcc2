// The values of a plan one by one, each under a key that names its place.
#pragma once

#include <map>
#include <string>

#include "framework/config/toml_tree.h"

namespace tenon::config {

// By key ("optimizer.lr", "loss[0].weight"): every value of a TOML document that is no table; a list is one value,
// unless it is of tables. Throws Error(configuration) with `source`, for messages, if the text is not TOML.
std::map<std::string, Node> flatten_plan(const std::string& text, const std::string& source);

}  // namespace tenon::config
