// Compares the tokens of validation and test data with those of the training data.
#pragma once

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Throws Error(configuration) if a dataset with a tokenizer has other tokens than the training data: the same number
// would stand for another text. Datasets with the draft extension TENON_FITTED_DATA use those of the training data;
// this finds the others. Does nothing for data without a tokenizer.
void check_vocabularies(const Training& training);

}  // namespace tenon::pipeline
