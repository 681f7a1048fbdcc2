// The warnings of a run before its first step.
#pragma once

#include "framework/pipeline/build/training.h"
#include "host/training/resume.h"
#include "host/training/train_options.h"

namespace tenon::host {

// Logs them on the first rank: settings that make the run slow or its results useless, settings that it never reaches,
// weights that it starts from with other classes or another vocabulary, and data that have changed since the
// checkpoint. `resumption`: null for a new run. Every rank calls it, because every rank has to stop at an error. Throws
// as check_run() and check_batch_norm() do, and Error(checkpoint) if the training data have changed in the middle of an
// epoch.
void report_checks(pipeline::Training& training, const Resumption* resumption, const TrainOptions& options);

}  // namespace tenon::host
