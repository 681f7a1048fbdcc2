// Where two runs of one run file do not have the same bits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon::host {

struct RunDifference {
  std::string file;   // of the run's folder, or of its last checkpoint: "history.jsonl", "model.safetensors"
  std::string name;   // of the tensor, the number or the figure in it; empty: something about the file as a whole
  std::string text;   // how the two differ, as a sentence without its subject
  bool is_callbacks;  // what callbacks save or measure, and no weight or figure of the host's depends on
};

struct RunComparison {
  std::vector<RunDifference> differences;  // in the order of the files, and within each of what is in it
  // Of the first run.
  int64_t step = 0;              // of its last checkpoint
  int64_t model_tensors = 0;     // in model.safetensors
  int64_t training_tensors = 0;  // in training.safetensors: the optimizer's, random numbers, states of callbacks
  int64_t numbers = 0;           // in the manifest's state, without times
  int64_t lines = 0;             // of history.jsonl
};

// Compares the history and the last checkpoint of two runs' folders, times aside. Throws Error(checkpoint) for a run
// without a checkpoint, or with files that cannot be read.
RunComparison compare_runs(const std::filesystem::path& run, const std::filesystem::path& other);

}  // namespace tenon::host
