#include "framework/artifacts/checkpoint/model_files.h"

#include <nlohmann/json.hpp>

#include "framework/artifacts/checkpoint/checkpoint_links.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostIndexBytes = size_t{64} << 20;
constexpr std::string_view kModelPartPrefix = "model-";
constexpr std::string_view kModelPartSuffix = ".safetensors";

}  // namespace

std::string name_model_part(int64_t part, int64_t parts) {
  return fmt::format("model-{:05}-of-{:05}.safetensors", part + 1, parts);
}

bool is_model_file(std::string_view name) {
  return name == kModelFile || (name.starts_with(kModelPartPrefix) && name.ends_with(kModelPartSuffix));
}

fs::path find_model_file(const fs::path& folder) {
  return support::is_file(folder / kModelIndex) ? folder / kModelIndex : folder / kModelFile;
}

std::optional<fs::path> find_index_instead(const fs::path& file) {
  const fs::path index = file.parent_path() / kModelIndex;
  const bool has_index = file.filename() == kModelFile && !support::path_exists(file) && support::is_file(index);
  return has_index ? std::optional(index) : std::nullopt;
}

std::vector<std::span<const TensorView>> divide_model(std::span<const TensorView> tensors, uint64_t most_bytes) {
  std::vector<std::span<const TensorView>> parts;
  size_t first = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i > first && bytes + tensors[i].bytes > most_bytes) {
      parts.push_back(tensors.subspan(first, i - first));
      first = i;
      bytes = 0;
    }
    bytes += tensors[i].bytes;
  }
  parts.push_back(tensors.subspan(first));
  return parts;
}

std::string format_model_index(const WeightMap& files, uint64_t total_bytes) {
  return nlohmann::json{{"metadata", {{"total_size", total_bytes}}}, {"weight_map", files}}.dump(2) + "\n";
}

WeightMap read_model_index(const fs::path& index) {
  using nlohmann::json;
  const std::string text =
      support::read_file(index, {support::ErrorKind::checkpoint, "an index of safetensors files", kMostIndexBytes});
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto refuse_form = [&] {
    support::refuse_path(support::ErrorKind::checkpoint, index,
                         "is not an index of safetensors files; expected JSON with \"weight_map\": {tensor: file}");
  };
  if (!document.is_object() || !document.contains("weight_map") || !document["weight_map"].is_object()) refuse_form();
  WeightMap files;
  for (const auto& [tensor, file] : document["weight_map"].items()) {
    if (!file.is_string()) refuse_form();
    files[tensor] = file.get<std::string>();
    const std::string& name = files[tensor];
    if (name.empty() || name == "." || name == ".." || fs::path(name).filename() != name)
      support::refuse_path(support::ErrorKind::checkpoint, index, "names the file {}; expected a name without folders",
                           quote_name(name));
  }
  if (files.empty())
    support::refuse_path(support::ErrorKind::checkpoint, index, "lists no tensors; expected at least one");
  return files;
}

std::set<std::string> list_names(const WeightMap& files) {
  std::set<std::string> names;
  for (const auto& [tensor, name] : files) names.insert(name);
  return names;
}

std::vector<fs::path> list_weight_files(const fs::path& named) {
  const fs::path file = replace_checkpoint_names(named);
  if (support::is_folder(file)) return list_weight_files(find_model_file(file));
  if (!file.string().ends_with(kIndexSuffix)) return {file};
  const std::set<std::string> names = list_names(read_model_index(file));
  std::vector<fs::path> files;
  for (const std::string& name : names) files.push_back(file.parent_path() / name);
  return files;
}

}  // namespace tenon::artifacts
