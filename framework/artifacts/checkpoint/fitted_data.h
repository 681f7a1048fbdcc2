// What the training data derived (tenon/draft/fitted_data.h), in the metadata of weights: the entry `fitted_data` of a
// safetensors file, an object such as {"table": "eyJjb2x1bW5z..."} with the bytes in base64.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace tenon::artifacts {

inline constexpr const char* kFittedData = "fitted_data";

using FittedData = std::map<std::string, std::string>;  // bytes by the id of the dataset's component

// Returns JSON on one line.
std::string format_fitted_data(const FittedData& fitted);

// Returns nothing for a file without this entry, with one of another form, or that cannot be read: the reader of its
// tensors reports the reason.
FittedData read_fitted_data(const std::filesystem::path& file);

}  // namespace tenon::artifacts
