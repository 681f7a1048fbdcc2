// Chooses where `host verify-resume` kills a run.
#pragma once

#include <cstdint>
#include <vector>

#include "host/verify_resume/kill_observer.h"

namespace tenon::host {

// Returns `count` kills in the order of their steps, spread over the run at random positions of the seed. A kill
// hits a random rank at the end of a step. Every second kill hits rank 0 during a save instead, if its part of the run
// has a checkpoint. All kills come after the second checkpoint of the run: the first one is complete by then, so that a
// checkpoint to resume from exists. `saved_steps`: steps of the run's checkpoints, ascending; `last_step`: last step of
// the run.
// Throws Error(configuration) if there are fewer steps than kills.
std::vector<KillAt> choose_kills(const std::vector<int64_t>& saved_steps, int64_t last_step, int64_t processes,
                                 int64_t count, uint64_t seed);

}  // namespace tenon::host
