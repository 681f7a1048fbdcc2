// Finds settings that make a run slow or its results useless, without an error.
#pragma once

#include <string>
#include <vector>

#include "framework/pipeline/build/training.h"
#include "framework/pipeline/checks/advise_device.h"

namespace tenon::pipeline {

// Returns warnings, each one line with the place in the run file, what was found, and the fix: bf16 on a processor
// without instructions for it, validation or test on samples of the training data, a batch that is larger than the
// training data, weights of a run on other classes, and those of check_class_counts(). Reads no sample and computes
// nothing. Throws as check_class_counts() and check_vocabularies(). `has_bf16`: of the processor.
std::vector<std::string> check_run(const Training& training, bool has_bf16 = cpu_has_bf16());

// The part of check_run() that does not depend on how many samples are used and whether there is validation: bf16, and
// check_class_counts().
std::vector<std::string> check_computation(const Training& training, bool has_bf16 = cpu_has_bf16());

}  // namespace tenon::pipeline
