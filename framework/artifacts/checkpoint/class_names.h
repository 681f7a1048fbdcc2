// The names of classes in the metadata of weights: the entry `class_names` of a safetensors file and of a manifest, an
// object such as {"label": ["cat", "dog"]}.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "framework/artifacts/checkpoint/fitted_data.h"
#include "framework/artifacts/checkpoint/model_sizes.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/config/values/class_names.h"

namespace tenon::artifacts {

inline constexpr const char* kClassNames = "class_names";

// Returns JSON on one line.
std::string format_class_names(const config::ClassNames& names);

// Returns nothing for a text of another form: files of other programs may use the same entry.
config::ClassNames parse_class_names(std::string_view text);

// Returns the metadata of a file of weights: the format, and the names, the sizes of the model and what the training
// data derived, if there are any.
Metadata make_weights_metadata(const config::ClassNames& names = {}, const ModelSizes& sizes = {},
                               const FittedData& fitted = {});

// Returns the names in a file of weights. Returns nothing for a file without names or that cannot be read: the reader
// of its tensors reports the reason.
config::ClassNames read_class_names(const std::filesystem::path& file);

}  // namespace tenon::artifacts
