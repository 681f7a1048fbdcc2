// The files that the `host checkpoint` commands inspect.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/artifacts/checkpoint/safetensors.h"

namespace tenon::host {

// A checkpoint folder or a single safetensors file.
struct InspectedFiles {
  std::filesystem::path path;                             // folder or file
  std::optional<artifacts::CheckpointManifest> manifest;  // only for a checkpoint; its digests are not verified
  std::vector<std::filesystem::path> tensor_files;        // the safetensors files, in the manifest's order
};

// Finds the files of a path, see artifacts::find_inspected(). Throws Error(checkpoint).
InspectedFiles find_inspected_files(const std::filesystem::path& path);

// Returns the safetensors files by their content, see artifacts::name_content(), or by their names.
std::map<std::string, std::vector<std::filesystem::path>> group_by_content(const InspectedFiles& files);

// The tensors of several files.
class StoredTensors {
 public:
  // Throws Error(checkpoint) if a file cannot be read.
  explicit StoredTensors(const std::vector<std::filesystem::path>& files = {});

  const std::vector<const artifacts::TensorView*>& all() const { return all_; }
  const artifacts::TensorView* find(const std::string& name) const;  // null: no such tensor

 private:
  std::vector<std::unique_ptr<artifacts::SafetensorsFile>> files_;
  std::vector<const artifacts::TensorView*> all_;
};

// Returns "checkpoint runs/.../step-00000230 (epoch 10, step 230)" or "file a.safetensors".
std::string describe(const InspectedFiles& files);

std::string format_shape(const artifacts::TensorView& tensor);   // "[64, 3, 7, 7]"
std::string describe_type(const artifacts::TensorView& tensor);  // "float32 [64, 3, 7, 7]"

}  // namespace tenon::host
