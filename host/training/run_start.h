// The record of a run at its start, for run.json, and its warnings before the first step.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/run_record.h"
#include "framework/components/loading/catalogue.h"
#include "framework/pipeline/build/training.h"
#include "framework/support/compute/compute_device.h"
#include "host/training/resume.h"
#include "host/training/run.h"

namespace tenon::host {

artifacts::RunRecord make_record(const pipeline::Training& training, const components::Catalogue& catalogue,
                                 const support::ComputeDevice& device, std::vector<std::string> command_line,
                                 std::chrono::system_clock::time_point start);

// Logs warnings on the first rank: settings that make the run slow or its results useless, settings that it never
// reaches, weights that it starts from with other classes or another vocabulary, and data that have changed since the
// checkpoint. `resumption`: null for a new run. Every rank calls it, because every rank has to stop at an error. Throws
// as check_run() and check_batch_norm() do, and Error(checkpoint) if the training data have changed in the middle of an
// epoch.
void report_checks(pipeline::Training& training, const Resumption* resumption, const TrainOptions& options);

}  // namespace tenon::host
