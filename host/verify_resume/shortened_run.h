// A run in short, that still comes to everything that a run comes to: ends of epochs, validations, checkpoints, lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "host/open_run.h"

namespace tenon::host {

struct ShortenedRun {
  int64_t epochs = 0;           // 0: the run goes by steps
  int64_t steps = 0;            // in all, as far as no callback ends it and no batch is skipped
  int64_t steps_per_epoch = 0;  // of an epoch
  int64_t save_every = 0;       // steps
  // "key=value" over the run file, as --set has it. run.output_dir is not among them.
  std::vector<std::string> overrides;
};

// About `steps` optimizer steps, in three epochs of them or as many more as a small dataset needs; nothing depends on
// the time. Limits of the plan's own stay where they are tighter. run.deterministic is on. Creates the training data to
// see how many batches it has, and throws as that does. REQUIRES: steps >= 1.
ShortenedRun shorten_run(const OpenedRun& opened, int64_t steps);

}  // namespace tenon::host
