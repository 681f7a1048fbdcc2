// How a model does on single samples: which it is best and worst at, and which classes it takes for which.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

struct NamedValue {
  std::string name;
  at::Tensor value;  // on the CPU, contiguous
};

struct ScoredSample {
  int64_t index;  // within the dataset
  double loss;    // of this sample alone: the sum of the run's losses with their weights
  // Its fields, and what the model made of it: "predicted label" where an output gives the classes of the field
  // `label`, as the class with the largest number; other outputs under their own names, unless they are very large.
  // Without the batch's extent.
  std::vector<NamedValue> values;
};

// Of an output [N, C, ...] of which a loss or a metric takes the classes of integers [N, ...].
struct ClassCounts {
  std::string output;  // "logits"
  std::string target;  // "label"
  at::Tensor counts;   // [C, C] int64: how often a target of class i (row) was predicted as j (column)
  bool is_per_sample;  // one class a sample, not one for each of its places
};

struct SampleScores {
  std::string data;                 // "validation"
  int64_t scored = 0;               // samples looked at
  int64_t size = 0;                 // samples there are
  std::vector<ScoredSample> worst;  // the largest loss first
  std::vector<ScoredSample> best;   // the smallest loss first; none that is among the worst
  std::vector<ClassCounts> classes;
};

struct ScoringLimits {
  int64_t samples;  // the first of the data that are looked at
  size_t kept;      // so many of the best and of the worst at most
};

// Runs the model in evaluation mode, without gradients, over the first samples of the data, in the order of a
// validation. Losses are computed for each sample by itself; samples of which no loss is finite count among neither.
// Targets that are no class, as labels that are ignored, are left out of the counts. `goes_on` is asked after
// each batch.
SampleScores score_samples(
    Training& training, DataFlow& data, const plugins::RunPosition& position, const ScoringLimits& limits,
    const std::function<bool()>& goes_on = [] { return true; });

}  // namespace tenon::pipeline
