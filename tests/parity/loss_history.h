// Reads the losses of a run and computes the difference between two runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon::parity {

// Returns "train/loss" of the "step" events of a history.jsonl. The events must be those of steps 1, 2, 3, ... in
// order. Otherwise throws std::runtime_error with file and line.
std::vector<double> read_step_losses(const std::filesystem::path& history);

// Returns "validation/loss" of the "validation" events.
std::vector<double> read_validation_losses(const std::filesystem::path& history);

// A run with PyTorch.
struct ReferenceRun {
  std::string name;
  std::string network;                 // NETWORK.toml is the run file
  std::vector<std::string> overrides;  // values for --set
  double limit;                        // maximum relative difference of a loss
  std::vector<double> losses;
  std::vector<double> validation_losses;
};

// Returns the "cases" of a file written by make_training_reference.py.
std::vector<ReferenceRun> read_reference_runs(const std::filesystem::path& reference);

struct Difference {
  int64_t step;     // step with the largest difference, from 1
  double relative;  // |loss - reference| / |reference|; infinite if a loss is not finite
};

// Returns the largest relative difference. Throws std::runtime_error if the numbers of steps differ or are zero.
Difference largest_difference(const std::vector<double>& losses, const std::vector<double>& reference);

}  // namespace tenon::parity
