// Compares the data of a run with its model: classes, targets and vocabularies.
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

// Returns a warning for each field of class numbers per pixel that holds one class in the batch, apart from elements
// that the loss ignores: the ignored number is then often a class. Reads fields in host memory.
std::vector<std::string> check_targets(const Training& training, const BatchTensors& batch_tensors);

// Throws Error(configuration) if a dataset with a tokenizer has other tokens than the training data: the same number
// would stand for another text. Datasets with the draft extension TENON_FITTED_DATA use those of the training data;
// this finds the others. Does nothing for data without a tokenizer.
void check_vocabularies(const Training& training);

}  // namespace tenon::pipeline
