#include "host/training/read_checkpoint.h"

#include <torch/types.h>

#include <utility>

#include "framework/artifacts/checkpoint/checkpoint_digest.h"
#include "framework/artifacts/checkpoint/copy_safetensors.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/plugins/tensors/tensor_handles.h"
#include "framework/support/error.h"

namespace tenon::host {

artifacts::ReadCheckpointFile CheckpointReader::reading() {
  return [this](const std::filesystem::path& file) {
    if (file.filename() == artifacts::kModelFile) return read(file, model_);
    if (file.filename() == artifacts::kTrainingFile) return read(file, training_);
    return artifacts::read_checkpoint_digest(file);
  };
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

std::vector<optimization::NamedTensor> CheckpointReader::take(Tensors& tensors) {
  if (tensors.failure) std::rethrow_exception(tensors.failure);
  return std::move(tensors.tensors);
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
