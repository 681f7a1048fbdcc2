#include "host/training/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/cuda/nccl_maker.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "host/process/call_reports.h"
#include "host/process/describe_failure.h"
#include "host/training/read_checkpoint.h"

namespace tenon::host {

namespace {

// Prints the plan without output and plugin paths, which may differ between machines.
std::string describe_plan(config::RunPlan plan) {
  plan.run.output_dir.clear();
  plan.plugin_paths.clear();
  return config::format_run_plan(plan);
}

std::string describe_plugins(const components::Catalogue& catalogue) {
  std::vector<std::string> lines;
  for (const auto& plugin : catalogue.plugins())
    lines.push_back(plugin->id + " " + plugin->version + " sha256 " + plugin->sha256 + "\n");
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// Chooses NCCL for CUDA devices, unless the run file requests gloo.
distributed::ProcessGroup::MakeBackend choose_backend(const OpenedRun& opened) {
  const config::Backend expected = opened.plan.distributed.backend;
  const cuda::DeviceLibrary* library = opened.device.library;
  if (expected == config::Backend::nccl && !library)
    throw support::Error(support::ErrorKind::configuration,
                         "distributed.backend: is \"nccl\", and the run is on the CPU; expected run.device to be a "
                         "CUDA device, or backend = \"auto\"");
  if (expected == config::Backend::gloo || !library) return {};
  return cuda::nccl_maker(*library);
}

}  // namespace

std::unique_ptr<distributed::ProcessGroup> join_ranks(const distributed::World& world, const OpenedRun& opened) {
  if (world.size == 1) return std::make_unique<distributed::ProcessGroup>();
  if (!world.is_first()) support::log_errors_only("rank " + std::to_string(world.rank));
  report_calls_of_rank(world.rank);
  auto group = std::make_unique<distributed::ProcessGroup>(world, opened.plan.distributed, describe_running_call,
                                                           choose_backend(opened), find_overdue_call);
  try {
    group->require_equal("the configuration", describe_plan(opened.plan));
    group->require_equal("the list of plugins", describe_plugins(opened.catalogue));
  } catch (const std::exception& error) {
    end_rank(*group, error);
  }
  return group;
}

SilentRecorder::SilentRecorder(std::filesystem::path folder, const pipeline::Training& training)
    : folder_(std::move(folder)) {
  if (training.shards)
    parts_.emplace(artifacts::RunFolder{folder_}.checkpoints(), training.group->rank(), training.group->size(),
                   training.parameter_shards != nullptr, training.plan->checkpoint.asynchronous);
}

pipeline::BestCheckpoint SilentRecorder::read_best_checkpoint() { return host::read_best_checkpoint(folder_); }

void end_rank(distributed::ProcessGroup& group, const std::exception& error) {
  if (group.is_single()) throw;
  const Failure failure = describe_failure(error);
  // The processes of one machine share a terminal, which shows an error that all of them find once.
  if (group.report_failure(failure.message) || !group.world().is_one_machine()) support::log_error(failure.message);
  support::flush_log();
  std::fflush(nullptr);
  _exit(failure.exit_code);
}

}  // namespace tenon::host
