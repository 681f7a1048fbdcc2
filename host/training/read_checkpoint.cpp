#include "host/training/read_checkpoint.h"

#include <torch/types.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint_digest.h"
#include "framework/artifacts/checkpoint/checkpoint_parts.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::host {

artifacts::ReadCheckpointFile CheckpointReader::reading() {
  return [this](const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    const bool has_tensors = !artifacts::name_content(name).empty();
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
    read.tensors = pipeline::map_tensors(std::make_shared<const artifacts::SafetensorsFile>(file));
  } catch (const support::Error&) {
    read.failure = std::current_exception();
  }
  return artifacts::read_checkpoint_digest(file);
}

std::vector<optimization::NamedTensor> CheckpointReader::take(bool of_model) {
  std::vector<optimization::NamedTensor> taken;
  for (auto& [name, file] : files_) {
    if (artifacts::is_model_file(name) != of_model) continue;
    if (file.failure) std::rethrow_exception(file.failure);
    std::ranges::move(file.tensors, std::back_inserter(taken));
    file.tensors.clear();
  }
  return taken;
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
