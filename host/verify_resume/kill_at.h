// A run that is to be killed at a definite place, as `host verify-resume` has it of the runs that it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/pipeline/events.h"

namespace tenon::host {

struct KillAt {
  enum class Moment {
    step_end,   // as soon as the step is done, before anything is saved
    saved_step  // when the checkpoint of the step has been taken, while it may still be on its way to the disk
  };
  int64_t step = 1;
  int64_t rank = 0;
  Moment moment = Moment::step_end;
};

// The environment's variable: "7", "7:1" of rank 1, "8:0:save".
inline constexpr const char* kKillAtVariable = "TENON_KILL_AT";
std::string to_string(const KillAt& kill);

// What the variable says; none where it is not set, or empty. Throws Error(configuration) for anything else.
std::optional<KillAt> read_kill_at();

// Raises SIGKILL there, after all other observers of the event. A run that was resumed at the step of its last
// checkpoint hears once more that it was taken.
class KillObserver final : public pipeline::Observer {
 public:
  explicit KillObserver(const KillAt& kill) : kill_(kill) {}

  bool wants(pipeline::Event event) const override;
  int32_t priority() const override { return INT32_MAX; }
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::Verdict& verdict) override;

 private:
  KillAt kill_;
};

}  // namespace tenon::host
