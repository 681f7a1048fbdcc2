// The sizes of a model in the metadata of its weights: the entry `model_sizes` of a safetensors file, an object such as
// {"channels": 3, "classes": 10} with the model's parameters that stand for sizes of the data
// (tenon/parameter_roles.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace tenon::artifacts {

inline constexpr const char* kModelSizes = "model_sizes";

using ModelSizes = std::map<std::string, int64_t>;  // by parameter

// Returns JSON on one line.
std::string format_model_sizes(const ModelSizes& sizes);

// Returns the sizes in a file of weights. Returns nothing for a file without this entry, with one of another form, or
// that cannot be read: the reader of its tensors reports the reason.
ModelSizes read_model_sizes(const std::filesystem::path& file);

}  // namespace tenon::artifacts
