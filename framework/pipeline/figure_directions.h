// The figures that a run will make, known before its first step.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// By their names in the history: 1 higher is better, -1 lower, 0 neither.
using Directions = std::map<std::string, int32_t>;

Directions find_directions(const Training& training);

// Throws Error(configuration) with the nearest name if the run does not make the figure. `key`: of the run file, with
// its place, for the message.
void require_figure(const std::string& figure, const Directions& known, const std::string& key);

}  // namespace tenon::pipeline
