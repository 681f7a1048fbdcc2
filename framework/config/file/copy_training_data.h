// [data.validation] like = "train", and [data.test] like = "train" or "validation".
#pragma once

#include "framework/config/toml/diagnostics.h"
#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

// The tables of [data].
inline constexpr const char* kTrain = "train";
inline constexpr const char* kValidation = "validation";
inline constexpr const char* kTest = "test";

// Completes validation and test data with `like` by the `use` and `params` of the dataset that it names, except those
// that they set. Removes the key. Adds errors to `diagnostics`.
void copy_training_data(Node& document, Diagnostics& diagnostics);

}  // namespace tenon::config
