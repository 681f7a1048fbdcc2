#include "host/training/launch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/config/file/usable_resources.h"
#include "framework/cuda/open_device.h"
#include "framework/distributed/launch/elastic_size.h"
#include "framework/distributed/launch/launch_ranks.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"
#include "host/process/call_reports.h"
#include "host/process/describe_failure.h"
#include "host/process/process_setup.h"
#include "host/process/signals.h"
#include "host/training/open_run.h"
#include "host/training/resume.h"

namespace tenon::host {

namespace {

using distributed::World;
using support::Error;
using support::ErrorKind;

void refuse_second_launcher(const LaunchOptions& options, const World& world) {
  const bool was_started_by_another =
      world.launcher != World::Launcher::none && world.launcher != World::Launcher::tenon;
  if (options.processes == 0 || !was_started_by_another) return;
  throw_command_line_error(
      "--processes is {}, and {} has started {} already (its variables are in the environment); expected one launcher: "
      "omit --processes",
      options.processes, distributed::name_of(world.launcher), world.size);
}

// If neither the run file nor the environment sets the number of threads, the processes share the cores.
int64_t share_threads(const config::RunConfig& config, int64_t processes) {
  const char* const given = std::getenv("OMP_NUM_THREADS");
  if (config.declared.run.threads > 0 || (given && *given)) return 0;
  return std::max<int64_t>(config::count_usable_cores() / processes, 1);
}

// Launches the processes again after a lost one, and after a checkpoint if more may be started.
class RestartedLaunch {
 public:
  RestartedLaunch(const LaunchOptions& options, const config::RunConfig& config, int64_t processes)
      : restarts_(options.restarts),
        config_(config),
        is_elastic_(options.least_processes > 0),
        size_({is_elastic_ ? options.least_processes : processes, processes}) {
    request_.arguments = options.command_line;
    if (is_elastic_) request_.on_checkpoint = [this] { return size_.note_checkpoint(); };
  }

  int run() {
    for (;;) {
      const auto report = launch();
      if (!report) continue;
      if (!report->message.empty()) support::log_error(report->message);
      // Only a lost process is restarted. Errors in a plugin or run file would recur.
      const bool was_lost = report->exit_code == static_cast<int>(ErrorKind::rank_lost);
      if (!report->was_stopped_to_restart && !(was_lost && restart_after_loss())) return report->exit_code;
      if (report->was_stopped_to_restart)
        support::log_warning("the run restarts with " + describe_size() + " from its newest checkpoint");
      ++request_.attempt;
    }
  }

 private:
  // Returns nothing if the processes could not be started, and fewer may be.
  std::optional<distributed::LaunchReport> launch() {
    request_.processes = size_.processes();
    request_.omp_threads = size_.processes() > 1 ? share_threads(config_, size_.processes()) : 0;
    try {
      return distributed::launch_ranks(request_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::system || !size_.fail_to_start()) throw;
      support::log_warning(std::string(error.what()) + "; the run continues with " + describe_size());
      return std::nullopt;
    }
  }

  bool restart_after_loss() {
    const int64_t before = size_.processes();
    const bool counts = size_.lose();
    if (counts && ++lost_ > restarts_) return false;
    const std::string what = counts ? fmt::format("restart {} of {}", lost_, restarts_) : "more processes failed again";
    support::log_warning("{}{}: the run resumes from its newest checkpoint", what,
                         size_.processes() < before ? ", with " + describe_size() : "");
    return true;
  }

  std::string describe_size() const { return support::format_count(size_.processes(), "process", "processes"); }

  const int64_t restarts_;
  const config::RunConfig& config_;
  const bool is_elastic_;
  distributed::ElasticSize size_;
  distributed::LaunchRequest request_;
  int64_t lost_ = 0;  // restarts after a loss
};

void refuse_without_restarts(const LaunchOptions& options) {
  if (options.least_processes == 0 || options.restarts > 0) return;
  throw_command_line_error(
      "--processes is {}:{}, but a lost process ends the run without --restarts; expected --restarts N: the most "
      "restarts after lost processes",
      options.least_processes, options.processes);
}

void warn_of_few_cores(int64_t processes) {
  const int64_t cores = config::count_usable_cores();
  if (processes <= cores) return;
  support::log_warning(
      "distributed.processes is {}, and this machine has {}; expected a core for each process, or more: processes that "
      "share a core take turns, so the run is slower than with --processes {}",
      processes, support::format_count(cores, "usable core"), cores);
}

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
  return reporting::join(lines, "");
}

// Chooses NCCL for CUDA devices, unless the run file requests gloo.
distributed::ProcessGroup::MakeBackend choose_backend(const OpenedRunFile& opened) {
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

std::optional<int> launch_processes_if_needed(const LaunchOptions& options, const World& world) {
  refuse_second_launcher(options, world);
  refuse_without_restarts(options);
  if (world.launcher != World::Launcher::none) {
    // Plugin output to the launcher's pipe is line-buffered, as on a terminal.
    if (world.launcher == World::Launcher::tenon && !world.is_first()) std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    return std::nullopt;
  }
  const config::RunConfig config = read_run_file(options.file).config;
  const int64_t processes = config.declared.distributed.processes;
  if (processes == 1 && options.restarts == 0) return std::nullopt;
  check_run_file(options.file, config);  // each process would report the same error
  warn_of_few_cores(processes);
  return RestartedLaunch(options, config, processes).run();
}

int start_training(const TrainOptions& options) {
  support::set_terminal_log(options.is_verbose ? support::TerminalLog::everything : support::TerminalLog::warnings,
                            options.logs_json ? support::TerminalFormat::json : support::TerminalFormat::text);
  catch_save_signal();
  const World world = distributed::read_world();
  if (!world.is_first()) support::log_errors_only("rank " + std::to_string(world.rank));
  if (const auto exit_code = launch_processes_if_needed(options, world)) return *exit_code;
  support::log_info(wait_policy_description());
  return train_in_this_process(options, world);
}

std::unique_ptr<distributed::ProcessGroup> join_ranks(const distributed::World& world, const OpenedRunFile& opened) {
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

PartRecorder::PartRecorder(std::filesystem::path folder, const pipeline::Training& training)
    : folder_(std::move(folder)) {
  if (training.shards)
    parts_.emplace(artifacts::RunFolder{folder_}.checkpoints(), training.group->rank(), training.group->size(),
                   training.parameter_shards != nullptr, training.plan->checkpoint.asynchronous);
}

pipeline::BestCheckpoint PartRecorder::read_best_checkpoint() { return host::read_best_checkpoint(folder_); }

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
