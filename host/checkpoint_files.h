// What the commands of `host checkpoint` look at.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint_manifest.h"
#include "framework/artifacts/tensor_view.h"

namespace tenon::host {

// A checkpoint's folder, or a safetensors file alone.
struct InspectedFiles {
  std::filesystem::path path;                             // the folder, or the file
  std::optional<artifacts::CheckpointManifest> manifest;  // of a checkpoint; its digests are not looked at
  std::vector<std::filesystem::path> tensor_files;        // the safetensors files, in the manifest's order
};

// What --path names, see artifacts::find_inspected(). Throws Error(checkpoint).
InspectedFiles find_files(const std::filesystem::path& path);

// "checkpoint runs/.../step-00000230 (epoch 10, step 230)" or "file a.safetensors".
std::string describe(const InspectedFiles& files);

// "[64, 3, 7, 7]".
std::string print_shape(const artifacts::TensorView& tensor);

}  // namespace tenon::host
