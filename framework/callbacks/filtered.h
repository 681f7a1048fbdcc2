// An observer that is told of a part of the events: `every`, `after`, `once` and `priority` of a [[callback]].
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "framework/config/run_plan.h"
#include "framework/pipeline/events.h"

namespace tenon::callbacks {

// Events belong to steps: those from batch_fetched to optimizer_after to the step that is being done, those between
// steps (step_end, validations, checkpoints, epochs) to the last one that was done. A step passes as a whole or not at
// all, so that whoever watches several events of it sees all of them.
//
// Events of the run itself (run_setup, run_start, checkpoint_loaded, stop_requested, run_end, run_exception,
// run_teardown) always pass.
class Filtered final : public pipeline::Observer {
 public:
  Filtered(std::unique_ptr<pipeline::Observer> observer, const config::EventFilter& filter)
      : observer_(std::move(observer)), filter_(filter) {}

  bool wants(pipeline::Event event) const override { return observer_->wants(event); }
  std::string name() const override { return observer_->name(); }
  int32_t priority() const override { return filter_.priority.value_or(observer_->priority()); }
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::Verdict& verdict) override;
  std::string save_state() const override;
  // Throws Error(checkpoint) for bytes that save_state() did not give.
  void load_state(const std::string& bytes) override;

 private:
  struct Moment {
    int64_t epoch;
    int64_t step;
    bool operator==(const Moment&) const = default;
  };

  // What it remembers of earlier events.
  struct Memory {
    Moment decided_for{-1, -1};
    double counted_from_s = 0;  // of an `every` in time
    int64_t decision = 0;       // whether that moment passes
    int64_t has_passed = 0;     // whether any has
  };

  bool passes(pipeline::Event event, const pipeline::RunState& state);
  bool is_due(const Moment& moment, const pipeline::RunState& state);

  std::unique_ptr<pipeline::Observer> observer_;
  config::EventFilter filter_;
  Memory memory_;
};

}  // namespace tenon::callbacks
