// What the command line sets over the run file: `--set train.epochs=3`.
#pragma once

#include <string>

#include "framework/config/mistakes.h"
#include "framework/config/toml_tree.h"

namespace tenon::config {

// Applies `key.path=value` to the document. Tables that are missing are made; an element of a list is addressed by its
// index from 0, and the index after the last one adds an element: `loss.0.weight=2`. The value is TOML, and text that
// is not TOML is a string unless it begins like a string, a list or a table.
void apply_override(const std::string& text, Node& document, Mistakes& mistakes);

}  // namespace tenon::config
