// Compares the classes that a run's data declare with the outputs of its model.
#pragma once

#include <string>
#include <vector>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Checks the targets of losses: fields that a loss declares as indices (tenon/index_inputs.h) and that have classes by
// the dataset's declaration (tenon/class_names.h). Reads no sample. Returns a warning, with the place in the run file
// and the fix, for an output with more classes than the training data have, and for training data with one class.
// Throws Error(configuration) for an output with fewer classes than a dataset has. Checks the classes of the batch
// transform `mix` in the same way.
// `outputs`: null: checks the outputs with ports that declare the number of classes; else the model's outputs for a
// batch: checks only the other outputs.
std::vector<std::string> check_class_counts(const Training& training, const std::vector<at::Tensor>* outputs = nullptr);

}  // namespace tenon::pipeline
