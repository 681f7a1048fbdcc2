// The losses of a run, step by step, and how far two runs are apart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon::parity {

// "train/loss" of the "step" events of a history.jsonl, which must be those of the steps 1, 2, 3, ... in order. Throws
// std::runtime_error naming file and line where it is otherwise.
std::vector<double> read_step_losses(const std::filesystem::path& history);

// "validation/loss" of its "validation" events.
std::vector<double> read_validation_losses(const std::filesystem::path& history);

// A run of PyTorch's.
struct ReferenceRun {
  std::string name;
  std::string network;                 // of the run file
  std::vector<std::string> overrides;  // of it, as --set takes them
  double limit;                        // of the relative difference of a loss
  std::vector<double> losses;
  std::vector<double> validation_losses;
};

// The "cases" of a file made by make_training_reference.py.
std::vector<ReferenceRun> read_reference_runs(const std::filesystem::path& reference);

struct Difference {
  int64_t step;     // from 1, of the largest difference
  double relative;  // |loss - reference| / |reference|; infinite where a loss is not finite
};

// Throws std::runtime_error if the numbers of steps differ or are zero.
Difference largest_difference(const std::vector<double>& losses, const std::vector<double>& reference);

}  // namespace tenon::parity
