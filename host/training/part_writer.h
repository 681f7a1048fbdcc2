// Writes the parts of this rank of the training state and of the model, while rank 0 writes the rest of the checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/components/kinds/model.h"
#include "framework/pipeline/device/host_copies.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::host {

class PartWriter {
 public:
  // `checkpoints`: the checkpoints/ of the run. `rank`: not 0, of `ranks`. `has_model`: it also writes a part of the
  // model. `asynchronous`: as for CheckpointWriter. Throws Error(configuration) if this machine has no such folder.
  PartWriter(std::filesystem::path checkpoints, int64_t rank, int64_t ranks, bool has_model, bool asynchronous);
  // Waits for the current write; see finish().
  ~PartWriter();

  // Writes the optimizer's state of this rank, and its tensors of the model and weights of training. Waits for the
  // previous write first. Throws Error(checkpoint), also for the previous write.
  void save(int64_t step, std::span<const components::NamedTensor> model, const pipeline::SavedState& saved);

  // Throws the error of the previous write, if it has already failed.
  void check();
  // Waits for the current write. Throws its error.
  void finish();

 private:
  std::filesystem::path checkpoints_;
  int64_t rank_, ranks_;
  bool has_model_;
  bool asynchronous_;
  int64_t saves_ = 0;
  pipeline::HostCopies training_, model_;
  std::vector<artifacts::TensorView> training_views_, model_views_;
  std::future<void> writing_;  // invalid: no write is in progress
};

}  // namespace tenon::host
