// Overrides of the run file on the command line: `--set train.epochs=3`.
#pragma once

#include <string>

#include "framework/config/toml/diagnostics.h"
#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

// Applies `key.path=value` to the document and creates missing tables. A list element is addressed by its index from 0:
// `loss.0.weight=2`. The index after the last element appends one. The value is TOML. Text that is not TOML is a
// string, unless it begins like a string, a list or a table. A key that excludes one of the run file replaces it:
// train.steps and train.epochs. Adds errors to `diagnostics`.
void apply_override(const std::string& text, Node& document, Diagnostics& diagnostics);

}  // namespace tenon::config
