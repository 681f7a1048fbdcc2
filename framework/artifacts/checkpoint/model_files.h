// The files of a model's weights in a checkpoint: model.safetensors, or several files with an index, as Hugging Face
// writes large models (huggingface.co/docs/safetensors and transformers' save_pretrained).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::artifacts {

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kModelIndex = "model.safetensors.index.json";
inline constexpr std::string_view kIndexSuffix = ".safetensors.index.json";

// Larger models are written to several files.
inline constexpr uint64_t kMostModelBytes = 5'000'000'000;

// Returns "model-00002-of-00004.safetensors" for the part 1 of 4.
std::string name_model_part(int64_t part, int64_t parts);
// Whether the file of a checkpoint has weights of the model.
bool is_model_file(std::string_view name);

// Returns model.safetensors, or the index if the folder has one.
std::filesystem::path find_model_file(const std::filesystem::path& folder);

// Returns the index if `file` is a model.safetensors that does not exist, in a folder with an index.
std::optional<std::filesystem::path> find_index_instead(const std::filesystem::path& file);

// Divides tensors in their order, so that a part has at most `most_bytes` or one tensor. Returns at least one part.
std::vector<std::span<const TensorView>> divide_model(std::span<const TensorView> tensors, uint64_t most_bytes);

// The name of the file for each tensor.
using WeightMap = std::map<std::string, std::string>;

std::string format_model_index(const WeightMap& files, uint64_t total_bytes);

// Throws Error(checkpoint) if the file is not such an index, lists no tensors, or names a file with a folder.
WeightMap read_model_index(const std::filesystem::path& index);

// Returns the names of the files, sorted.
std::set<std::string> list_names(const WeightMap& files);

// Returns the safetensors files of an index, sorted by name, or the file itself if it is not an index. A folder stands
// for its find_model_file(). Throws Error(checkpoint) as read_model_index() does.
std::vector<std::filesystem::path> list_weight_files(const std::filesystem::path& file);

}  // namespace tenon::artifacts
