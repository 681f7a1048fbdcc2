// Reads the tensors of a checkpoint.
#pragma once

#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/pipeline/loop/train.h"
#include "framework/pipeline/state/recorder.h"

namespace tenon::host {

// Maps the files of a checkpoint into memory during its verification. What is not used of a file takes no memory: a
// process reads only its part of a state that is divided over processes.
class CheckpointReader {
 public:
  // Returns the callback for artifacts::verify_checkpoint(). The reader must outlive that call.
  artifacts::ReadCheckpointFile reading();

  // Return the tensors of the last checkpoint read. Throw Error(checkpoint) if a file matches its digest but cannot be
  // parsed.
  // Of all ranks that wrote them.
  std::vector<optimization::NamedTensor> take_model() { return take(/*of_model=*/true); }
  std::vector<optimization::NamedTensor> take_training() { return take(/*of_model=*/false); }

 private:
  struct Tensors {
    std::vector<optimization::NamedTensor> tensors;
    std::exception_ptr failure;
  };
  Tensors& place_of(const std::filesystem::path& file);
  static std::string read(const std::filesystem::path& file, Tensors& tensors);
  std::vector<optimization::NamedTensor> take(bool of_model);

  std::mutex mutex_;                      // guards the map while files are read
  std::filesystem::path folder_;          // of the checkpoint
  std::map<std::string, Tensors> files_;  // by name; each is written by one thread
};

// Reads and verifies the checkpoint that the link `best` of a run folder points to. Throws Error(checkpoint).
pipeline::BestCheckpoint read_best_checkpoint(const std::filesystem::path& run);

}  // namespace tenon::host
