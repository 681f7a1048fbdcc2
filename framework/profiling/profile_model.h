// What a model costs: counted from the operators that it runs and the memory that they take, so that it holds for any
// plugin, and timed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/pipeline/training.h"
#include "framework/profiling/latency.h"
#include "framework/profiling/operator_log.h"

namespace tenon::profiling {

struct ModuleProfile {
  std::string name;        // "layer1.0.conv1"; "" of what stands in no module
  int64_t parameters = 0;  // elements, also of frozen ones
  int64_t bytes = 0;       // parameters and buffers
  int64_t macs = 0;        // of a batch, forward in evaluation; see count_macs()
  double seconds = 0;      // of the same, operator by operator; on CUDA until they were launched
};

struct ModelProfile {
  int64_t batch_size = 0;
  std::vector<std::pair<std::string, std::vector<int64_t>>> inputs;  // names and shapes
  std::vector<ModuleProfile> modules;                                // the innermost, in order of declaration
  ModuleProfile total;
  int64_t step_macs = 0;            // of a batch: forward, losses, backward
  std::set<std::string> uncounted;  // operators that took more than was counted
  // In bytes, beside the weights.
  int64_t state_bytes = 0;            // between two steps: the optimizer's state, and gradients that are kept
  int64_t kept_for_backward = 0;      // after forward and losses
  int64_t step_peak_bytes = 0;        // of a training step, above what there is between steps
  int64_t evaluation_peak_bytes = 0;  // of forward in evaluation
  Latency evaluation;                 // forward, from inputs on the device
  Latency step;                       // forward, losses, backward, optimizer; with the transfer
};

// The sum of those whose names begin with the same `depth` parts, in the order of the first of each.
std::vector<ModuleProfile> group_modules(const std::vector<ModuleProfile>& modules, size_t depth);

// Of the first batch of the training data. The model is trained a little by it. `repeats`: timed steps and evaluations,
// at least 1. Throws as TrainStep does, and Error(data) where that batch cannot be read.
ModelProfile profile_model(pipeline::Training& training, int64_t repeats);

}  // namespace tenon::profiling
