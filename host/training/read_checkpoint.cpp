#include "host/training/read_checkpoint.h"

#include <torch/types.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint_digest.h"
#include "framework/artifacts/checkpoint/copy_safetensors.h"
#include "framework/artifacts/checkpoint/training_parts.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/plugins/tensors/tensor_handles.h"
#include "framework/support/error.h"

namespace tenon::host {

artifacts::ReadCheckpointFile CheckpointReader::reading() {
  return [this](const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    const bool has_tensors =
        name == artifacts::kModelFile || name == artifacts::kTrainingFile || artifacts::is_training_part(name);
    return has_tensors ? read(file, place_of(file)) : artifacts::read_checkpoint_digest(file);
  };
}

// Forgets the previous checkpoint, which may have had other files.
CheckpointReader::Tensors& CheckpointReader::place_of(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  if (file.parent_path() != folder_) files_.clear();
  folder_ = file.parent_path();
  return files_[file.filename().string()];
}

// Parse errors are kept for later: the digest reports a damaged file first, wherever the damage is.
std::string CheckpointReader::read(const std::filesystem::path& file, Tensors& read) {
  read = {};
  try {
    return artifacts::copy_safetensors(file, [&read](const artifacts::TensorView& stored) {
      at::Tensor tensor = at::empty(stored.shape, plugins::to_scalar_type(stored.dtype));
      read.tensors.push_back({stored.name, tensor});
      return static_cast<std::byte*>(tensor.mutable_data_ptr());
    });
  } catch (const support::Error&) {
    read.failure = std::current_exception();
    return artifacts::read_checkpoint_digest(file);
  }
}

std::vector<optimization::NamedTensor> CheckpointReader::take(const std::vector<std::string>& names) {
  std::vector<optimization::NamedTensor> taken;
  for (const std::string& name : names) {
    Tensors& file = files_[name];
    if (file.failure) std::rethrow_exception(file.failure);
    std::ranges::move(file.tensors, std::back_inserter(taken));
    file.tensors.clear();
  }
  return taken;
}

std::vector<optimization::NamedTensor> CheckpointReader::take_training() {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_)
    if (name != artifacts::kModelFile) names.push_back(name);
  return take(names);
}

pipeline::BestCheckpoint read_best_checkpoint(const std::filesystem::path& run) {
  const std::filesystem::path checkpoints = artifacts::RunFolder{run}.checkpoints();
  const auto folder = artifacts::find_linked_checkpoint(checkpoints, artifacts::kBest);
  if (!folder)
    throw support::Error(
        support::ErrorKind::checkpoint,
        (checkpoints / artifacts::kBest).string() +
            ": is missing; expected the best checkpoint of the run, for checkpoint.load_best_at_end or [data.test]");
  CheckpointReader reader;
  const artifacts::CheckpointManifest manifest = artifacts::verify_checkpoint(*folder, reader.reading());
  pipeline::BestCheckpoint best{manifest.step, reader.take_model(), {manifest.metrics.begin(), manifest.metrics.end()}};
  best.epoch = manifest.epoch;
  best.excluded = {*folder / artifacts::kManifestFile, manifest.excluded};
  return best;
}

}  // namespace tenon::host
