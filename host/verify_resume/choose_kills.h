// Where `host verify-resume` has a run killed.
#pragma once

#include <cstdint>
#include <vector>

#include "host/verify_resume/kill_at.h"

namespace tenon::host {

// `count` places in the order of their steps, spread over the run by chance of the seed: a random rank at the end of a
// step, and in every other one, where a checkpoint is taken in its part of the run, rank 0 while it saves it. All lie
// behind the run's second checkpoint: by then the first is whole on the disk, so that there is always one to go on
// from. `saved_steps`: of the run's checkpoints, ascending; `last_step`: of the run. Throws Error(configuration) where
// there are fewer steps than kills.
std::vector<KillAt> choose_kills(const std::vector<int64_t>& saved_steps, int64_t last_step, int64_t processes,
                                 int64_t count, uint64_t seed);

}  // namespace tenon::host
