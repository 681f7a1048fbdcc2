// Training runs of bundled components that differ in many keys of the run file.
#pragma once

#include <set>
#include <string>

#include "tests/cuda_standin/runs/covering_array.h"
#include "tests/pipeline/trained_run.h"

namespace tenon::standin {

enum Factor {
  kModel,
  kLoss,
  kOptimizer,
  kPrecision,
  kGraph,
  kDeterministic,
  kAccumulate,
  kClip,
  kAverage,
  kGroup,
  kCheckpointing,
  kFormat,
  kWorkers,
  kTransform,
  kFactorCount
};

const Factors& factors();

// Returns the value of a factor: the id of a component, or keys of the run file.
std::string value_of(const Combination& combination, Factor factor);
std::string describe(const Combination& combination);

constexpr int kSteps = 6;  // the first five batches run without a graph

// A run of kSteps steps on the CPU. Writes the data into the folder of the test case. `precision` and `graph` are keys
// of the table train.
pipeline::Setup setup_of(const Combination& combination, const std::string& precision, const std::string& graph);

// "loss mse" for each component and optimizer that a combination has, and for each that is bundled.
std::set<std::string> used_components();
std::set<std::string> bundled_components();

}  // namespace tenon::standin
