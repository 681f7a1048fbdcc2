// What the files of a checkpoint hold, in memory.
#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint.h"
#include "framework/pipeline/recorder.h"
#include "framework/pipeline/train.h"

namespace tenon::host {

// Takes the tensors of a checkpoint along while it is verified, so that its files are read once.
class CheckpointReader {
 public:
  // For artifacts::verify_checkpoint(), which this must outlive.
  artifacts::ReadCheckpointFile reading();

  // Of the last checkpoint that was read. Throws Error(checkpoint) where a file is as it was written, and yet none that
  // can be read.
  std::vector<optimization::NamedTensor> take_model() { return take(model_); }
  std::vector<optimization::NamedTensor> take_training() { return take(training_); }

 private:
  struct Tensors {
    std::vector<optimization::NamedTensor> tensors;
    std::exception_ptr failure;
  };
  static std::string read(const std::filesystem::path& file, Tensors& tensors);
  static std::vector<optimization::NamedTensor> take(Tensors& tensors);

  Tensors model_, training_;  // each read by one thread
};

// The one that `best` of a run's folder points at, verified. Throws Error(checkpoint).
pipeline::BestCheckpoint read_best_checkpoint(const std::filesystem::path& run);

}  // namespace tenon::host
