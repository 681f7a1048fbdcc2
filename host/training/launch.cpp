#include "host/training/launch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "framework/config/file/read_run_config.h"
#include "framework/config/file/usable_cores.h"
#include "framework/distributed/launch/launch_ranks.h"
#include "framework/distributed/launch/world.h"
#include "framework/support/error.h"
#include "framework/support/log.h"
#include "host/process/signals.h"
#include "host/process/wait_policy.h"
#include "host/training/open_run.h"
#include "host/training/run.h"

namespace tenon::host {

namespace {

using distributed::World;
using support::Error;
using support::ErrorKind;

void refuse_second_launcher(const LaunchOptions& options, const World& world) {
  const bool was_started_by_another =
      world.launcher != World::Launcher::none && world.launcher != World::Launcher::tenon;
  if (options.processes == 0 || !was_started_by_another) return;
  throw Error(ErrorKind::configuration, "command line: --processes is " + std::to_string(options.processes) + ", and " +
                                            distributed::name_of(world.launcher) + " has started " +
                                            std::to_string(world.size) +
                                            " already (its variables are in the environment); "
                                            "expected one launcher: omit --processes");
}

// If neither the run file nor the environment sets the number of threads, the processes share the cores.
int64_t share_threads(const config::RunConfig& config, int64_t processes) {
  const char* const given = std::getenv("OMP_NUM_THREADS");
  if (config.run.threads.value_or(0) > 0 || (given && *given)) return 0;
  return std::max<int64_t>(config::count_usable_cores() / processes, 1);
}

}  // namespace

std::optional<int> launch_processes(const LaunchOptions& options, const World& world) {
  refuse_second_launcher(options, world);
  if (world.launcher != World::Launcher::none) {
    // Plugin output to the launcher's pipe is line-buffered, as on a terminal.
    if (world.launcher == World::Launcher::tenon && !world.is_first()) std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    return std::nullopt;
  }
  const config::RunConfig config =
      config::read_run_config(options.file.config, options.file.overrides, options.file.plugin_directories);
  const int64_t processes = config.distributed.processes.value_or(1);
  if (processes == 1 && options.restarts == 0) return std::nullopt;
  check_run_file(options.file);  // each process would report the same error
  distributed::LaunchRequest request;
  request.processes = processes;
  request.arguments = options.command_line;
  if (processes > 1) request.omp_threads = share_threads(config, processes);
  for (;; ++request.attempt) {
    const distributed::LaunchReport report = distributed::launch_ranks(request);
    if (!report.message.empty()) support::log_error(report.message);
    // Only a lost process is restarted. Errors in a plugin or run file would recur.
    const bool was_lost = report.exit_code == static_cast<int>(ErrorKind::rank_lost);
    if (!was_lost || request.attempt == options.restarts) return report.exit_code;
    support::log_warning("restart " + std::to_string(request.attempt + 1) + " of " + std::to_string(options.restarts) +
                         ": the run resumes from its newest checkpoint");
  }
}

int start_training(const TrainOptions& options) {
  support::set_terminal_log(options.is_verbose ? support::TerminalLog::everything : support::TerminalLog::warnings,
                            options.logs_json ? support::TerminalFormat::json : support::TerminalFormat::text);
  catch_save_signal();
  const World world = distributed::read_world();
  if (const auto exit_code =
          launch_processes({options.file, options.processes, options.restarts, options.command_line}, world))
    return *exit_code;
  support::log_info(describe_wait_policy());
  return run(options, world);
}

}  // namespace tenon::host
