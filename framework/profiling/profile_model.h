// Profiles a model: MACs and memory, counted from its operators so that it works for any plugin, and times.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/pipeline/build/training.h"
#include "framework/profiling/measurements.h"
#include "framework/profiling/operator_log.h"

namespace tenon::profiling {

struct ModuleProfile {
  std::string name;        // "layer1.0.conv1"; "" for tensors and operators outside of any module
  int64_t parameters = 0;  // number of elements, including frozen parameters
  int64_t bytes = 0;       // parameters and buffers
  int64_t macs = 0;        // for one batch, forward in evaluation mode; see OperatorLog
  double seconds = 0;      // of the same forward, summed over operators; on CUDA until the launch
};

struct ModelProfile {
  int64_t batch_size = 0;
  std::vector<std::pair<std::string, std::vector<int64_t>>> inputs;  // names and shapes
  std::vector<ModuleProfile> modules;                                // innermost modules, in order of declaration
  ModuleProfile total;
  int64_t step_macs = 0;            // for one batch: forward, losses, backward
  std::set<std::string> uncounted;  // operators with MACs that were not counted
  // In bytes, without the weights.
  int64_t state_bytes = 0;            // between two steps: optimizer state and kept gradients
  int64_t saved_for_backward = 0;     // memory after forward and losses
  int64_t step_peak_bytes = 0;        // of a training step, above the memory between steps
  int64_t evaluation_peak_bytes = 0;  // of forward in evaluation mode
  Latency evaluation;                 // forward, with inputs on the device
  Latency step;                       // forward, losses, backward and optimizer, including the transfer
};

// The memory and time of training steps.
struct StepProfile {
  int64_t batch_size = 0;
  int64_t fixed_bytes = 0;  // between two steps: weights, optimizer state and kept gradients
  int64_t saved_bytes = 0;  // what forward keeps for backward
  int64_t peak_bytes = 0;   // of a training step, with the weights
  int64_t batch_bytes = 0;  // of the samples in host memory, which the other values do not include
  Latency step;             // as in ModelProfile
};

// Sums modules with names that share the first `depth` parts, in the order of the first module of each group.
std::vector<ModuleProfile> group_modules(const std::vector<ModuleProfile>& modules, size_t depth);

// Profiles the model with the first batch of the training data. This changes the weights of the model. `repeats` is the
// number of timed steps and evaluations, at least 1. Throws as TrainStep does, and Error(data) if the batch cannot be
// read.
ModelProfile profile_model(pipeline::Training& training, int64_t repeats);

// The same for training steps alone.
StepProfile profile_steps(pipeline::Training& training, int64_t repeats);

}  // namespace tenon::profiling
