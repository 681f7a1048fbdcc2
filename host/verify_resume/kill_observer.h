// Kills the process at a given step of its run. Only `host killed-run` has this observer.
#pragma once

#include <cstdint>

#include "framework/pipeline/state/events.h"

namespace tenon::host {

struct KillAt {
  enum class TimePoint {
    step_end,   // at the end of the step, before anything is saved
    saved_step  // after the checkpoint of the step was taken, possibly during its write
  };
  int64_t step = 1;
  int64_t rank = 0;
  TimePoint moment = TimePoint::step_end;
};

// Raises SIGKILL at that point, after all other observers of the event. A run that resumes at the step of its last
// checkpoint receives the event of that checkpoint again.
class KillObserver final : public pipeline::Observer {
 public:
  explicit KillObserver(const KillAt& kill) : kill_(kill) {}

  bool subscribes(pipeline::Event event) const override;
  int32_t priority() const override { return INT32_MAX; }
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::CallbackRequests& report) override;

 private:
  KillAt kill_;
};

}  // namespace tenon::host
