// A shortened run that still has all parts of a run: ends of epochs, validations, checkpoints, log lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "host/training/open_run.h"

namespace tenon::host {

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
ShortenedRun shorten_run(const OpenedRun& opened, int64_t steps);

}  // namespace tenon::host
