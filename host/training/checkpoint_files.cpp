#include "host/training/checkpoint_files.h"

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/run_folder/find_run.h"
#include "framework/components/calls/ports.h"
#include "framework/support/files/files.h"

namespace tenon::host {

InspectedFiles find_files(const std::filesystem::path& path) {
  InspectedFiles files{artifacts::find_inspected(artifacts::find_run(path)), {}, {}};
  if (!support::is_folder(files.path)) {
    files.tensor_files = artifacts::list_weight_files(files.path);
    return files;
  }
  files.manifest = artifacts::read_manifest(files.path);
  for (const artifacts::CheckpointFile& file : files.manifest->files)
    if (file.name.ends_with(".safetensors")) files.tensor_files.push_back(files.path / file.name);
  return files;
}

std::string describe(const InspectedFiles& files) {
  if (!files.manifest) return "file " + files.path.string();
  return "checkpoint " + files.path.string() + " (epoch " + std::to_string(files.manifest->epoch) + ", step " +
         std::to_string(files.manifest->step) + ")";
}

std::string format_shape(const artifacts::TensorView& tensor) {
  return components::to_string(components::exact_shape(tensor.shape));
}

}  // namespace tenon::host
