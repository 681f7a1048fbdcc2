// The common start of all commands with a run file: the file, its plugins and the plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "framework/components/loading/catalogue.h"
#include "framework/config/file/run_config.h"
#include "framework/config/plan/run_plan.h"
#include "framework/cuda/open_device.h"
#include "framework/pipeline/tools/model_file.h"
#include "framework/support/compute/compute_device.h"
#include "host/command_line/command.h"

namespace tenon::host {

struct OpenedRunFile {
  components::Catalogue catalogue;
  config::RunPlan plan;
  cuda::OpenedDevice device;
  std::shared_ptr<pipeline::ModelFile> model_file = {};  // null: a run file was opened
};

// A run file that was read, or that of a model file with the files of its model.
struct RunFileContents {
  config::RunConfig config;
  std::shared_ptr<pipeline::ModelFile> model_file;  // null: a run file
};

// Throws Error as read_run_config and ModelFile do.
RunFileContents read_run_file(const RunFile& file);

// Whether the command computes on the run's device.
enum class Computes { no, yes };

// Reads the run file with its overrides, opens the device, resolves the plan and opens the plugins that it uses. Throws
// Error as read_run_config, open_device, Catalogue and resolve_run_plan do. The run file of a model file is the one in
// it, with the files of its model. `local_rank`: rank of this process on this
// machine.
OpenedRunFile open_run_file(const RunFile& file, Computes computes, int local_rank = 0);

// The same, without a device. The run file needs only [data].
OpenedRunFile open_data_of_run_file(const RunFile& file);

// Resolves the plan of a run file that was read. Throws what open_run_file() would throw up to there. Opens no device,
// and only plugins without a note.
void check_run_file(const RunFile& file, const config::RunConfig& config);

// Finds the dataset for --data: "train", "validation", "test", "validation/<name>" or "test/<name>". Throws
// Error(configuration).
const config::NamedDataset& find_dataset(const config::RunPlan& plan, const std::string& name);
// The same; without a name the first validation data, or the training data if there is none.
const config::NamedDataset& find_dataset_or_first(const config::RunPlan& plan, const std::string& name);

// Leaves only the training of the plan, without evaluation, callbacks and a schedule.
void keep_training_only(config::RunPlan& plan);

// The same for measurements, with one batch per step and without metrics. `batch_size`: 0 keeps that of the plan.
void prepare_profile(config::RunPlan& plan, int64_t batch_size);

std::string describe_device(const support::ComputeDevice& device);

}  // namespace tenon::host
