// [data.validation] like = "train".
#pragma once

#include "framework/config/toml/diagnostics.h"
#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

// Completes validation data with `like = "train"` by the training data's `use` and `params`, except those that they
// set. Removes the key. Adds errors to `diagnostics`.
void copy_training_data(Node& document, Diagnostics& diagnostics);

}  // namespace tenon::config
