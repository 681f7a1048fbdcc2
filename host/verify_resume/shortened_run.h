// What `host verify-resume` runs, and where it kills that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/training/open_run.h"

namespace tenon::host {

// Still has all parts of a run: ends of epochs, validations, checkpoints, log lines.
struct ShortenedRun {
  int64_t epochs = 0;           // 0: the length is given in steps
  int64_t steps = 0;            // total, if no callback ends the run and no batch is skipped
  int64_t steps_per_epoch = 0;  // optimizer steps of an epoch
  int64_t save_every = 0;       // checkpoint interval in steps
  // Overrides of the run file, "key=value" as for --set. They do not include run.output_dir.
  std::vector<std::string> overrides;
};

// Returns a run with about `steps` optimizer steps in three epochs, or in more epochs for a small dataset. Nothing
// depends on the time. Tighter limits of the plan are kept. run.deterministic is true. Creates the training data to
// count its batches, and throws as that does. REQUIRES: steps >= 1.
ShortenedRun shorten_run(const OpenedRunFile& opened, int64_t steps);

// Where a process of a run is killed.
struct KillAt {
  enum class TimePoint {
    step_end,   // at the end of the step, before anything is saved
    saved_step  // after the checkpoint of the step was taken, possibly during its write
  };
  int64_t step = 1;
  int64_t rank = 0;
  TimePoint moment = TimePoint::step_end;
};

// Returns `count` kills in the order of their steps, spread over the run at random positions of the seed. A kill
// hits a random rank at the end of a step. Every second kill hits rank 0 during a save instead, if its part of the run
// has a checkpoint. All kills come after the second checkpoint of the run: the first one is complete by then, so that a
// checkpoint to resume from exists. `saved_steps`: steps of the run's checkpoints, ascending; `last_step`: last step of
// the run. Throws Error(configuration) if there are fewer steps than kills.
std::vector<KillAt> choose_kills(const std::vector<int64_t>& saved_steps, int64_t last_step, int64_t processes,
                                 int64_t count, uint64_t seed);

}  // namespace tenon::host
