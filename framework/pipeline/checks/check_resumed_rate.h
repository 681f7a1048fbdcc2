// Compares the learning rate of a resumed run with that of its checkpoint.
#pragma once

#include <cstdint>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Reports the last learning rate of the checkpoint and the next one, if the schedule differs from that of the run that
// wrote it: more epochs stretch a schedule, other keys change it. A rate that rises is a warning, which names what
// keeps it down. `schedule_step`: the next step, at least 1; `step`: the optimizer steps done.
void report_resumed_rate(const Training& training, int64_t schedule_step, int64_t step, double last_rate);

}  // namespace tenon::pipeline
