// The losses of a run, step by step, and how far two runs are apart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tenon::parity {

// "train/loss" of the "step" events of a history.jsonl, which must be those of the steps 1, 2, 3, ... in order. Throws
// std::runtime_error naming file and line where it is otherwise.
std::vector<double> read_step_losses(const std::filesystem::path& history);

// "losses" of a file made by make_training_reference.py.
std::vector<double> read_reference_losses(const std::filesystem::path& reference);

struct Difference {
  int64_t step;     // from 1, of the largest difference
  double relative;  // |loss - reference| / |reference|; infinite where a loss is not finite
};

// Throws std::runtime_error if the numbers of steps differ or are zero.
Difference largest_difference(const std::vector<double>& losses, const std::vector<double>& reference);

}  // namespace tenon::parity
