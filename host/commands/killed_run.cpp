// `host killed-run`: trains like `host --config run.toml --resume auto` until it kills itself. `host verify-resume`
// starts it.
#include "host/command_line/command.h"
#include "host/training/launch.h"
#include "host/verify_resume/kill_observer.h"

namespace tenon::host {

namespace {

po::options_description make_killed_run_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("step", po::value<int64_t>()->value_name("N"), "kill the process at the end of this step");
  add("rank", po::value<int64_t>()->value_name("N")->default_value(0), "rank of the process to kill");
  add("during-save", "kill it after the checkpoint of the step was taken instead, possibly during its write");
  return options;
}

int run_until_killed(const Arguments& arguments) {
  KillObserver kill({arguments.count("step", 1), arguments.count("rank", 0),
                     arguments.has("during-save") ? KillAt::TimePoint::saved_step : KillAt::TimePoint::step_end});
  TrainOptions options;
  options.file = arguments.run_file();
  options.resume = "auto";
  options.command_line = arguments.command_line();
  options.observers = {&kill};
  return start_training(options);
}

}  // namespace

extern const Command killed_run_command{.name = "killed-run",
                                        .arguments = "",
                                        .needed = "--config FILE --step N",
                                        .purpose = "train until a step kills the process",
                                        .details =
                                            "Trains like host --config FILE --resume auto, and kills a process of the "
                                            "run with SIGKILL. host verify-resume starts it.",
                                        .page = "guides/resume.md",
                                        .make_options = make_killed_run_options,
                                        .run = run_until_killed};

}  // namespace tenon::host
