// Finds the samples with the best and worst losses, counts confusions between classes, and collects predicted numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/build/evaluation.h"

namespace tenon::pipeline {

struct NamedValue {
  std::string name;
  at::Tensor value;                      // on the CPU, contiguous
  std::optional<std::string> text = {};  // of tokens
  bool is_output = false;                // an output of the model that predicts no field
};

struct ScoredSample {
  int64_t index;  // index in the dataset
  double loss;    // for this sample alone: the sum of the run's losses times their factors
  // Its fields and the model's outputs, without the batch dimension. If an output predicts the field `label`, its name
  // is "predicted label": the class or token with the largest score, or numbers. Other outputs have their names; very
  // large ones are left out.
  std::vector<NamedValue> values;
};

// For an output [N, C, ...] that a loss or a metric compares with integer classes [N, ...].
struct ClassCounts {
  std::string output;  // "logits"
  std::string target;  // "label"
  at::Tensor counts;   // [C, C] int64: how often a target of class i (row) was predicted as class j (column)
  bool is_per_sample;  // one class per sample, not one per position
};

// For an output of numbers that a loss or a metric compares with numbers of the data.
struct PredictedNumbers {
  std::string output;  // "logits"
  std::string target;  // "target"
  at::Tensor values;   // [n, K, 2] float64: target and prediction of each of K numbers of each scored sample
};

struct SampleScores {
  std::string data;                 // "validation"
  int64_t scored = 0;               // samples scored
  int64_t size = 0;                 // samples in the dataset
  std::vector<ScoredSample> worst;  // largest loss first
  std::vector<ScoredSample> best;   // smallest loss first; none of them is also in `worst`
  std::vector<ClassCounts> classes;
  std::vector<PredictedNumbers> numbers;  // without targets that are all 0 or 1, which are classes
};

struct ScoringLimits {
  int64_t samples;  // how many samples to score, spread over the data
  size_t kept;      // maximum length of `best` and of `worst`
};

// Runs the model in evaluation mode, without gradients, over samples of the data that data::spread_places() chooses, in
// validation order: data are often in the order of their classes. Losses are computed for each sample separately.
// Samples without a finite loss are in neither list. Targets that are not a class, such as ignored labels, are not
// counted. `should_continue` is called after each batch and returns whether to continue.
SampleScores score_samples(
    Evaluation& evaluation, BoundDataset& data, const components::StepContext& context, const ScoringLimits& limits,
    const std::function<bool()>& should_continue = [] { return true; });

}  // namespace tenon::pipeline
