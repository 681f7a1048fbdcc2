// The record of a run at its start, for run.json.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/run_record.h"
#include "framework/components/loading/catalogue.h"
#include "framework/pipeline/build/training.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::host {

// Describes the training and the validation data, for the checkpoints of the run.
artifacts::DataRecord describe_run_data(const pipeline::Training& training);

artifacts::RunRecord make_record(const pipeline::Training& training, const components::Catalogue& catalogue,
                                 const support::ComputeDevice& device, std::vector<std::string> command_line,
                                 std::chrono::system_clock::time_point start);

}  // namespace tenon::host
