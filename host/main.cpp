// The program `host`. The only place where an error becomes an exit code.
#include <cstdio>
#include <exception>
#include <string>

#include <tenon/abi.h>

#include "framework/distributed/world.h"
#include "framework/plugins/check_plugin.h"
#include "framework/plugins/tensor_functions.h"
#include "framework/support/error.h"
#include "framework/support/log.h"
#include "host/command_line.h"
#include "host/compare/compare_command.h"
#include "host/describe_failure.h"
#include "host/diff_checkpoints_command.h"
#include "host/evaluate_command.h"
#include "host/export_command.h"
#include "host/help/print_completions.h"
#include "host/help/print_help.h"
#include "host/help/print_manual.h"
#include "host/launch.h"
#include "host/lr_find_command.h"
#include "host/overfit_command.h"
#include "host/pack_command.h"
#include "host/predict_command.h"
#include "host/profile_command.h"
#include "host/report_command.h"
#include "host/run.h"
#include "host/runs_command.h"
#include "host/schema_command.h"
#include "host/show_checkpoint_command.h"
#include "host/show_data.h"
#include "host/show_plugins.h"
#include "host/signals.h"
#include "host/validate_command.h"
#include "host/verify_checkpoint_command.h"
#include "host/verify_resume/verify_resume.h"
#include "host/wait_policy.h"
#include "host/write_note.h"

namespace {

using Action = tenon::host::CommandLine::Action;

// Alone, as one of the run's processes, or as their launcher.
int train(const tenon::host::CommandLine& line) {
  using tenon::support::TerminalFormat;
  using tenon::support::TerminalLog;
  tenon::support::set_terminal_log(
      line.is_verbose ? TerminalLog::everything : TerminalLog::warnings,
      line.log_format == tenon::host::CommandLine::Format::json ? TerminalFormat::json : TerminalFormat::text);
  tenon::host::catch_save_signal();
  const tenon::distributed::World world = tenon::distributed::read_world();
  const auto exit_code = tenon::host::launch(line, world);
  if (exit_code) return *exit_code;
  tenon::support::log_info(tenon::host::describe_wait_policy());
  return tenon::host::run(line, world);
}

// The command's name, where in each of several processes it would do the same, or write the same files.
const char* name_for_one_process(Action action) {
  switch (action) {
    case Action::pack: return "pack";
    case Action::evaluate: return "evaluate";
    case Action::predict: return "predict";
    case Action::export_weights: return "export";
    case Action::overfit: return "overfit";
    case Action::find_learning_rate: return "lr-find";
    case Action::profile: return "profile";
    case Action::compare: return "compare";
    case Action::verify_resume: return "verify-resume";
    default: return nullptr;
  }
}

int put(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int act(const tenon::host::CommandLine& line) {
  if (line.action == Action::help) {
    const tenon::host::Command* const command = tenon::host::find_command(line.helped);
    return put(command ? tenon::host::describe_command(*command) : tenon::host::describe_host());
  }
  if (line.action == Action::completion) return put(tenon::host::print_completions(line.shell));
  if (line.action == Action::manual) return put(tenon::host::print_manual(TENON_VERSION));
  if (line.action == Action::version) {
    std::printf("tenon %s\nlibtorch %s\nplugin abi %s to %s\n", TENON_VERSION, tenon::plugins::torch_build().c_str(),
                tenon::plugins::describe_abi(TENON_ABI_OLDEST).c_str(),
                tenon::plugins::describe_abi(TENON_ABI_CURRENT).c_str());
    return 0;
  }
  if (const char* const command = name_for_one_process(line.action))
    tenon::host::require_one_process(command, tenon::distributed::read_world());
  if (line.action == Action::train) return train(line);
  if (line.action == Action::list_plugins) return tenon::host::list_plugins(line);
  if (line.action == Action::describe) return tenon::host::describe(line);
  if (line.action == Action::note) return tenon::host::write_note(line);
  if (line.action == Action::data) return tenon::host::show_data(line);
  if (line.action == Action::pack) return tenon::host::pack(line);
  if (line.action == Action::evaluate) return tenon::host::evaluate(line);
  if (line.action == Action::predict) return tenon::host::predict(line);
  if (line.action == Action::overfit) return tenon::host::overfit(line);
  if (line.action == Action::find_learning_rate) return tenon::host::find_learning_rate(line);
  if (line.action == Action::profile) return tenon::host::profile(line);
  if (line.action == Action::compare) return tenon::host::compare(line);
  if (line.action == Action::verify_resume) return tenon::host::verify_resume(line);
  if (line.action == Action::validate) return tenon::host::validate(line);
  if (line.action == Action::export_weights) return tenon::host::export_weights(line);
  if (line.action == Action::show_checkpoint) return tenon::host::show_checkpoint(line);
  if (line.action == Action::verify_checkpoint) return tenon::host::verify_checkpoints(line);
  if (line.action == Action::schema) return tenon::host::print_schema(line);
  if (line.action == Action::list_runs) return tenon::host::list_runs(line);
  if (line.action == Action::report) return tenon::host::report(line);
  if (line.action == Action::diff_checkpoints) return tenon::host::diff_checkpoints(line);
  return tenon::host::run(line, {});  // --check
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = static_cast<int>(tenon::support::ErrorKind::internal);
  try {
    tenon::host::report_crashes();
    exit_code = act(tenon::host::parse_command_line(argc, argv));
  } catch (const std::exception& error) {
    const tenon::host::Failure failure = tenon::host::describe_failure(error);
    tenon::support::log_error(failure.message);
    exit_code = failure.exit_code;
  }
  tenon::support::flush_log();
  return exit_code;
}
