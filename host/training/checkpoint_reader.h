// Reads the tensors of a checkpoint while it is verified.
#pragma once

#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/optimization/optimizer.h"

namespace tenon::host {

// Maps the files of a checkpoint into memory during its verification. What is not used of a file takes no memory: a
// process reads only its part of a state that is divided over processes.
class CheckpointReader {
 public:
  // Returns the callback for artifacts::verify_checkpoint(). The reader must outlive that call.
  artifacts::ReadCheckpointFile reading();

  // Returns the tensors of the last checkpoint read: of the model, or of the training state of all ranks. Throws
  // Error(checkpoint) if a file matches its digest but cannot be parsed.
  std::vector<optimization::NamedTensor> take(bool of_model);

 private:
  struct Tensors {
    std::vector<optimization::NamedTensor> tensors;
    std::exception_ptr failure;
  };

  // Forgets the previous checkpoint, which may have had other files.
  Tensors& place_of(const std::filesystem::path& file);
  static void read(const std::filesystem::path& file, Tensors& read);

  std::mutex mutex_;                      // guards the map while files are read
  std::filesystem::path folder_;          // of the checkpoint
  std::map<std::string, Tensors> files_;  // by name; each is written by one thread
};

}  // namespace tenon::host
