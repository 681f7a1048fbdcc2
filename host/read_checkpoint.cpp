#include "host/read_checkpoint.h"

#include <torch/torch.h>

#include "framework/artifacts/checkpoint.h"
#include "framework/artifacts/run_folder.h"
#include "framework/artifacts/safetensors.h"
#include "framework/pipeline/stored_tensors.h"
#include "framework/support/error.h"

namespace tenon::host {

namespace {

std::vector<optimization::NamedTensor> read_tensors(const std::filesystem::path& path) {
  const artifacts::SafetensorsFile file(path);
  std::vector<optimization::NamedTensor> tensors;
  for (const artifacts::TensorView& stored : file.tensors())
    tensors.push_back({stored.name, pipeline::copy_stored(stored)});
  return tensors;
}

}  // namespace

pipeline::Checkpoint read_checkpoint(const artifacts::FoundCheckpoint& found) {
  pipeline::Checkpoint checkpoint{read_tensors(found.folder / artifacts::kModelFile), {}};
  checkpoint.state.numbers = found.manifest.state;
  for (optimization::NamedTensor& one : read_tensors(found.folder / artifacts::kTrainingFile))
    checkpoint.state.tensors[one.name] = one.tensor;
  return checkpoint;
}

pipeline::BestCheckpoint read_best_checkpoint(const std::filesystem::path& run) {
  const std::filesystem::path checkpoints = artifacts::RunFolder{run}.checkpoints();
  const auto folder = artifacts::find_linked_checkpoint(checkpoints, artifacts::kBest);
  if (!folder)
    throw support::Error(support::ErrorKind::checkpoint,
                         (checkpoints / artifacts::kBest).string() +
                             ": is missing; expected the best checkpoint of the run, for checkpoint.load_best_at_end");
  const artifacts::CheckpointManifest manifest = artifacts::verify_checkpoint(*folder);
  return {
      manifest.step, read_tensors(*folder / artifacts::kModelFile), {manifest.figures.begin(), manifest.figures.end()}};
}

}  // namespace tenon::host
