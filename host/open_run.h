// What every command on a run file begins with: the file, the plugins it names, and the plan.
#pragma once

#include <string>

#include "framework/config/run_plan.h"
#include "framework/cuda/open_device.h"
#include "framework/plugins/catalogue.h"
#include "host/command_line.h"

namespace tenon::host {

struct OpenedRun {
  plugins::Catalogue catalogue;
  config::RunPlan plan;
  cuda::OpenedDevice device;
};

// Whether the command computes on the run's device.
enum class Computes { no, yes };

// Reads the run file of the command line with its overrides, opens its device, resolves the plan and opens the
// plugins that it uses. Throws Error as read_run_config, open_device, Catalogue and resolve_run_plan do.
// `local_rank`: of this process among those that train on this machine.
OpenedRun open_run(const CommandLine& line, Computes computes, int local_rank = 0);

// The dataset of the plan that --data names: "train", "validation", "validation/<name>". Throws Error(configuration).
const config::NamedDataset& find_dataset(const config::RunPlan& plan, const std::string& name);

}  // namespace tenon::host
