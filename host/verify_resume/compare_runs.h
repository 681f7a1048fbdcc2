// Bitwise comparison of two runs of one run file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon::host {

struct RunDifference {
  std::string file;   // file of the run folder or its last checkpoint: "history.jsonl", "model.safetensors"
  std::string name;   // tensor, number or metric; empty: the difference concerns the whole file
  std::string text;   // the difference, as a sentence without subject
  bool is_callbacks;  // state or metric of a callback; no weight or metric of the host depends on it
};

struct RunComparison {
  std::vector<RunDifference> differences;  // sorted by file, then by position in the file
  // Sizes of the first run.
  int64_t step = 0;              // step of the last checkpoint
  int64_t model_tensors = 0;     // tensors in model.safetensors
  int64_t training_tensors = 0;  // tensors in training.safetensors: optimizer, generators, callback states
  int64_t numbers = 0;           // numbers in the manifest's state, without times
  int64_t lines = 0;             // lines of history.jsonl
};

// Compares the history and the last checkpoint of two run folders. Ignores times. Throws Error(checkpoint) if a run has
// no checkpoint or a file cannot be read.
RunComparison compare_runs(const std::filesystem::path& run, const std::filesystem::path& other);

}  // namespace tenon::host
