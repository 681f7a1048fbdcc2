// Finds settings that the run never reaches, because it ends before.
#pragma once

#include <string>
#include <vector>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Returns one warning for each setting, one line with the place, the key, its length, the length of the run and the
// fix: a warm-up, a schedule, milestones, the patience of a schedule or callback, an average and its half-life, a
// change of the data, frozen parameters, the interval of validations, checkpoints, histograms and callbacks, and
// batches to accumulate. Lengths in time are not compared. Reads no sample and computes nothing.
std::vector<std::string> check_lengths(const Training& training);

}  // namespace tenon::pipeline
