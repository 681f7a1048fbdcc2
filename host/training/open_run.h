// The common start of all commands with a run file: the file, its plugins and the plan.
#pragma once

#include <string>

#include "framework/components/loading/catalogue.h"
#include "framework/config/plan/run_plan.h"
#include "framework/cuda/open_device.h"
#include "host/command_line/arguments.h"

namespace tenon::host {

struct OpenedRun {
  components::Catalogue catalogue;
  config::RunPlan plan;
  cuda::OpenedDevice device;
};

// Whether the command computes on the run's device.
enum class Computes { no, yes };

// Reads the run file with its overrides, opens the device, resolves the plan and opens the
// plugins that it uses. Throws Error as read_run_config, open_device, Catalogue and resolve_run_plan do.
// `local_rank`: rank of this process on this machine.
OpenedRun open_run(const RunFile& file, Computes computes, int local_rank = 0);

// Reads the run file and resolves the plan. Throws what open_run() would throw up to there. Opens no device or plugin.
void check_run_file(const RunFile& file);

// Finds the dataset for --data: "train", "validation", "test", "validation/<name>" or "test/<name>". Throws
// Error(configuration).
const config::NamedDataset& find_dataset(const config::RunPlan& plan, const std::string& name);

}  // namespace tenon::host
