// Flattens a plan into values, each with the full path of its key.
#pragma once

#include <map>
#include <string>

#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

// Returns every value of a TOML document that is not a table, by key ("optimizer.lr", "loss[0].weight"). A list is one
// value, unless it is a list of tables. Throws Error(configuration) that names `source` if the text is not TOML.
std::map<std::string, Node> flatten_plan(const std::string& text, const std::string& source);

}  // namespace tenon::config
