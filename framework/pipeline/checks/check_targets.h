// Looks at the targets of a batch.
#pragma once

#include <string>
#include <vector>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Returns a warning for each field of class numbers per pixel that holds one class in the batch, apart from elements
// that the loss ignores: the ignored number is then often a class. Reads fields in host memory.
std::vector<std::string> check_targets(const Training& training, const BatchTensors& batch_tensors);

}  // namespace tenon::pipeline
