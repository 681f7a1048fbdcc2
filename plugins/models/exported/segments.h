// The parts of a program between which activation checkpointing keeps tensors: its repeated modules.
#pragma once

#include <vector>

#include "plugins/models/exported/program.h"

namespace exported {

// Returns the segments of a training program, in order. A segment is one call of a module that the model repeats, such
// as `layers.3`: other modules have the same type and a name that differs in its number. Where such modules contain
// each other, it is the outermost one, unless it has more than a tenth of all instructions. A call is left out if its
// inputs change in place, so that backward could not repeat it, or if others read a number that only it can compute.
std::vector<Segment> find_segments(const Program& program);

}  // namespace exported
