// `host killed-run`: trains like `host --config run.toml --resume auto` until it kills itself. `host verify-resume`
// starts it.
#include <csignal>
#include <cstdint>

#include "framework/pipeline/state/events.h"
#include "host/command_line/command.h"
#include "host/training/launch.h"
#include "host/verify_resume/shortened_run.h"

namespace tenon::host {

namespace {

// Raises SIGKILL after all other observers of the event. A run that resumes at the step of its last checkpoint receives
// the event of that checkpoint again.
class KillObserver final : public pipeline::Observer {
 public:
  explicit KillObserver(const KillAt& kill) : kill_(kill) {}

  bool subscribes(pipeline::Event event) const override {
    return event == (kill_.moment == KillAt::TimePoint::step_end ? pipeline::Event::step_end
                                                                 : pipeline::Event::checkpoint_after);
  }
  int32_t priority() const override { return INT32_MAX; }
  void on_event(pipeline::Event, const pipeline::RunState& state, pipeline::CallbackRequests&) override {
    if (state.step == kill_.step && state.rank == kill_.rank) raise(SIGKILL);
  }

 private:
  KillAt kill_;
};

void add_killed_run_options(AddOption& add) {
  add_run_file_options(add);
  add("step", integer_value("N"), "kill the process at the end of this step");
  add("rank", integer_value("N")->default_value(0), "rank of the process to kill");
  add("during-save", "kill it after the checkpoint of the step was taken instead, possibly during its write");
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
                                        .needed = "--config FILE --step N",
                                        .purpose = "train until a step kills the process",
                                        .details =
                                            "Trains like host --config FILE --resume auto, and kills a process of the "
                                            "run with SIGKILL. host verify-resume starts it.",
                                        .page = "guides/resume.md",
                                        .add_options = add_killed_run_options,
                                        .run = run_until_killed};

}  // namespace tenon::host
