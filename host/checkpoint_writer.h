// Writes a run's checkpoints, behind the training thread where it may.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/checkpoint.h"
#include "framework/pipeline/recorder.h"

namespace tenon::host {

class CheckpointWriter {
 public:
  // As CheckpointStore. `asynchronous`: save() returns when it has copies of everything, and a thread writes them.
  CheckpointWriter(std::filesystem::path folder, artifacts::Retention retention, bool asynchronous);
  // Waits for what is being written; see finish().
  ~CheckpointWriter();

  // `contents` without its tensors. One is written at a time: waits for the one before. Throws Error(checkpoint) as
  // CheckpointStore::write() does, for the one before too.
  void save(artifacts::CheckpointContents contents, std::span<const plugins::NamedTensor> model,
            const pipeline::SavedState& saved);

  // Throws what ended the one before, if that is known by now.
  void check();
  // Waits until it is.
  void finish();

  const std::filesystem::path& last() const { return last_; }  // that is whole; empty: none yet

 private:
  using Tensors = std::map<std::string, at::Tensor>;
  artifacts::TensorView copy(const std::string& name, const at::Tensor& tensor, Tensors& copies);

  artifacts::CheckpointStore store_;
  bool asynchronous_;
  // What is being written, or was: the memory serves again.
  Tensors model_, training_;
  std::vector<artifacts::TensorView> model_views_, training_views_;
  std::future<std::filesystem::path> writing_;  // invalid: nothing is
  std::filesystem::path last_;
};

}  // namespace tenon::host
