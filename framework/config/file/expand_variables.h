// Environment variables in the strings of a run file.
#pragma once

#include <string>

#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

// Replaces `${NAME}` by the environment variable, `${NAME:-text}` by the text if the variable is not set or empty, and
// `$${` by `${`. Other uses of `$` stay. `key`: for messages. Throws Error(configuration) with the location for a
// variable that is not set and has no text, for a name that is not one, and if `}` is missing.
std::string expand_variables(const std::string& text, const SourceLocation& place, const std::string& key);

// Replaces `${` by `$${`, so that expand_variables() returns the text.
std::string escape_variables(const std::string& text);

// Replaces them in all strings of the node.
void expand_variables(Node& node, const std::string& key);

}  // namespace tenon::config
