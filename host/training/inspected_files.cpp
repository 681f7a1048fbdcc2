#include "host/training/inspected_files.h"

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/components/calls/ports.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"

namespace tenon::host {

InspectedFiles find_inspected_files(const std::filesystem::path& path) {
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

std::map<std::string, std::vector<std::filesystem::path>> group_by_content(const InspectedFiles& files) {
  std::map<std::string, std::vector<std::filesystem::path>> groups;
  for (const std::filesystem::path& file : files.tensor_files) {
    const std::string name = file.filename().string(), content = artifacts::name_content(name);
    groups[content.empty() ? name : content].push_back(file);
  }
  return groups;
}

StoredTensors::StoredTensors(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    files_.push_back(std::make_unique<artifacts::SafetensorsFile>(file));
    for (const artifacts::TensorView& tensor : files_.back()->tensors()) all_.push_back(&tensor);
  }
}

const artifacts::TensorView* StoredTensors::find(const std::string& name) const {
  for (const auto& file : files_)
    if (const artifacts::TensorView* const tensor = file->find(name)) return tensor;
  return nullptr;
}

std::string describe(const InspectedFiles& files) {
  if (!files.manifest) return "file " + files.path.string();
  return fmt::format("checkpoint {} (epoch {}, step {})", files.path.string(), files.manifest->epoch,
                     files.manifest->step);
}

std::string format_shape(const artifacts::TensorView& tensor) {
  return components::to_string(components::exact_shape(tensor.shape));
}

std::string describe_type(const artifacts::TensorView& tensor) {
  return std::string(components::dtype_name(tensor.dtype)) + " " + format_shape(tensor);
}

}  // namespace tenon::host
