// What the metadata of weights say, and the manifest of a checkpoint in part. The functions that read a file return
// nothing if the entry is missing or has another form, which other programs may give it, or if the file cannot be read:
// the reader of its tensors reports the reason. All texts are JSON on one line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/config/values/class_names.h"

namespace tenon::artifacts {

// The names of classes: {"label": ["cat", "dog"]}.
inline constexpr const char* kClassNames = "class_names";
std::string format_class_names(const config::ClassNames& names);
config::ClassNames parse_class_names(std::string_view text);
config::ClassNames read_class_names(const std::filesystem::path& file);

// The parameters of a model that stand for sizes of the data (tenon/parameter_roles.h): {"channels": 3, "classes": 10}.
inline constexpr const char* kModelSizes = "model_sizes";
using ModelSizes = std::map<std::string, int64_t>;  // by parameter
std::string format_model_sizes(const ModelSizes& sizes);
ModelSizes read_model_sizes(const std::filesystem::path& file);

// What the training data derived (tenon/draft/fitted_data.h): {"table": "eyJjb2x1bW5z..."}, the bytes in base64.
inline constexpr const char* kFittedData = "fitted_data";
using FittedData = std::map<std::string, std::string>;  // bytes by the id of the dataset's component
std::string format_fitted_data(const FittedData& fitted);
FittedData parse_fitted_data(std::string_view text);
FittedData read_fitted_data(const std::filesystem::path& file);

// Returns the metadata of a file of weights: the format, and the others if there are any.
Metadata make_weights_metadata(const config::ClassNames& names = {}, const ModelSizes& sizes = {},
                               const FittedData& fitted = {});

}  // namespace tenon::artifacts
