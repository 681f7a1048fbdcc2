// The files that the `host checkpoint` commands inspect.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::host {

// A checkpoint folder or a single safetensors file.
struct InspectedFiles {
  std::filesystem::path path;                             // folder or file
  std::optional<artifacts::CheckpointManifest> manifest;  // only for a checkpoint; its digests are not verified
  std::vector<std::filesystem::path> tensor_files;        // the safetensors files, in the manifest's order
};

// Finds the files of a path, see artifacts::find_inspected(). Throws Error(checkpoint).
InspectedFiles find_files(const std::filesystem::path& path);

// Returns "checkpoint runs/.../step-00000230 (epoch 10, step 230)" or "file a.safetensors".
std::string describe(const InspectedFiles& files);

// Prints a shape as "[64, 3, 7, 7]".
std::string format_shape(const artifacts::TensorView& tensor);

}  // namespace tenon::host
