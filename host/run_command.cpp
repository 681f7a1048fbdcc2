#include "host/run_command.h"

#include <tenon/abi.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "framework/distributed/world.h"
#include "framework/plugins/check_plugin.h"
#include "framework/plugins/tensor_functions.h"
#include "framework/support/error.h"
#include "framework/support/log.h"
#include "host/command_line.h"
#include "host/compare/compare_command.h"
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
#include "host/standard_streams.h"
#include "host/validate_command.h"
#include "host/verify_checkpoint_command.h"
#include "host/verify_resume/verify_resume.h"
#include "host/wait_policy.h"
#include "host/write_note.h"

namespace tenon::host {

namespace {

using Action = CommandLine::Action;

// Trains as a single process or as a rank, or launches the ranks.
int train(const CommandLine& line) {
  using support::TerminalFormat;
  using support::TerminalLog;
  support::set_terminal_log(line.is_verbose ? TerminalLog::everything : TerminalLog::warnings,
                            line.log_format == CommandLine::Format::json ? TerminalFormat::json : TerminalFormat::text);
  catch_save_signal();
  const distributed::World world = distributed::read_world();
  const auto exit_code = launch(line, world);
  if (exit_code) return *exit_code;
  support::log_info(describe_wait_policy());
  return run(line, world);
}

// Returns the name of a command that must run in one process. Several would do the same work or write the same files.
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
  write_output_text(text);
  return 0;
}

int dispatch(const CommandLine& line) {
  if (line.action == Action::help) {
    const Command* const command = find_command(line.helped);
    return put(command ? describe_command(*command) : describe_host());
  }
  if (line.action == Action::completion) return put(print_completions(line.shell));
  if (line.action == Action::manual) return put(print_manual(TENON_VERSION));
  if (line.action == Action::version) {
    write_output("tenon %s\nlibtorch %s\nplugin abi %s to %s\n", TENON_VERSION, plugins::torch_build().c_str(),
                 plugins::describe_abi(TENON_ABI_OLDEST).c_str(), plugins::describe_abi(TENON_ABI_CURRENT).c_str());
    return 0;
  }
  if (line.action == Action::prefix)
    return put(std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().string() + "\n");
  if (const char* const command = name_for_one_process(line.action))
    require_one_process(command, distributed::read_world());
  if (line.action == Action::train) return train(line);
  if (line.action == Action::list_plugins) return list_plugins(line);
  if (line.action == Action::describe) return describe(line);
  if (line.action == Action::note) return write_note(line);
  if (line.action == Action::data) return show_data(line);
  if (line.action == Action::pack) return pack(line);
  if (line.action == Action::evaluate) return evaluate(line);
  if (line.action == Action::predict) return predict(line);
  if (line.action == Action::overfit) return overfit(line);
  if (line.action == Action::find_learning_rate) return find_learning_rate(line);
  if (line.action == Action::profile) return profile(line);
  if (line.action == Action::compare) return compare(line);
  if (line.action == Action::verify_resume) return verify_resume(line);
  if (line.action == Action::validate) return validate(line);
  if (line.action == Action::export_weights) return export_weights(line);
  if (line.action == Action::show_checkpoint) return show_checkpoint(line);
  if (line.action == Action::verify_checkpoint) return verify_checkpoints(line);
  if (line.action == Action::schema) return print_schema(line);
  if (line.action == Action::list_runs) return list_runs(line);
  if (line.action == Action::report) return report(line);
  if (line.action == Action::diff_checkpoints) return diff_checkpoints(line);
  return run(line, {});  // --check
}

}  // namespace

int run_command(const CommandLine& line) {
  const int exit_code = dispatch(line);
  try {
    flush_standard_output();
  } catch (const support::Error& error) {
    // The results of a run are in its folder.
    if (line.action != Action::train) throw;
    support::log_warning(error.what());
  }
  return exit_code;
}

}  // namespace tenon::host
