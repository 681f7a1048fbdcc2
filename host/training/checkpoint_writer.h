// Writes the checkpoints of a run, on a separate thread if this is enabled.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <future>
#include <span>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/components/kinds/model.h"
#include "framework/pipeline/device/host_copies.h"
#include "framework/pipeline/state/recorder.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::host {

class CheckpointWriter {
 public:
  // `folder`, `retention` and `resumed_from`: see CheckpointStore. `asynchronous`: save() copies the tensors and
  // returns, and a separate thread writes them.
  CheckpointWriter(std::filesystem::path folder, artifacts::Retention retention, bool asynchronous,
                   const std::filesystem::path& resumed_from);
  // Waits for the current write; see finish().
  ~CheckpointWriter();

  // `contents`: without tensors, and with the number of ranks that write parts. Only one checkpoint is written at a
  // time, so this waits for the previous one. Throws Error(checkpoint) as CheckpointStore::write() does, also for the
  // previous checkpoint.
  void save(artifacts::CheckpointContents contents, std::span<const components::NamedTensor> model,
            const pipeline::SavedState& saved);

  // Throws the error of the previous write, if it has already failed.
  void check();
  // Waits for the current write. Throws its error.
  void finish();
  // As finish(), for a run that has failed: waits only a few seconds for the parts of other ranks.
  void finish_failed();

  const std::filesystem::path& last() const { return last_; }  // last complete checkpoint; empty: none yet

 private:
  void release();

  artifacts::CheckpointStore store_;
  bool asynchronous_;
  // The tensors of the current or previous write. A synchronous writer does not copy tensors in host memory: no thread
  // changes them during the write.
  pipeline::HostCopies model_copies_, training_copies_;
  std::vector<artifacts::TensorView> model_views_, training_views_;
  std::atomic<bool> is_abandoned_{false};       // no more parts of other ranks are expected
  std::future<std::filesystem::path> writing_;  // invalid: no write is in progress
  std::filesystem::path last_;
};

// Writes the parts of this rank of the training state and of the model, while rank 0 writes the rest of the checkpoint.
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
  pipeline::HostCopies training_copies_, model_copies_;
  std::vector<artifacts::TensorView> training_views_, model_views_;
  std::future<void> writing_;  // invalid: no write is in progress
};

}  // namespace tenon::host
