// Keys of which a run has one: setting the second one in a later place replaces the first.
#pragma once

#include <string>

#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

// Removes from `base` the keys that a key of `extending` excludes, such as train.epochs if that sets train.steps. Both
// are root tables.
void keep_exclusive_keys(Node::Table& base, const Node::Table& extending);

// Removes the key of the run file that the override `key` excludes. Keys of other overrides stay.
void drop_excluded_key(Node& document, const std::string& key);

}  // namespace tenon::config
