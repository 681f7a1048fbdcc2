// Writes the checkpoints of a run, on a separate thread if this is enabled.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <future>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/pipeline/device/host_copies.h"
#include "framework/pipeline/state/recorder.h"

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
  pipeline::HostCopies model_, training_;
  std::vector<artifacts::TensorView> model_views_, training_views_;
  std::atomic<bool> is_abandoned_{false};       // no more parts of other ranks are expected
  std::future<std::filesystem::path> writing_;  // invalid: no write is in progress
  std::filesystem::path last_;
};

}  // namespace tenon::host
