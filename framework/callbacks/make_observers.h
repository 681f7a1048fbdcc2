// Creates the observers for the callbacks of a run file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/components/calls/run_view.h"
#include "framework/components/kinds/callback.h"
#include "framework/config/plan/run_plan.h"
#include "framework/pipeline/state/events.h"

namespace tenon::callbacks {

// One observer per callback, with the filter of its plan. REQUIRES: plans[i] belongs to callbacks[i]. Callbacks,
// tensors and description must outlive the observers; the latter two may be null: callbacks that need them get none.
std::vector<std::unique_ptr<pipeline::Observer>> make_observers(
    const std::vector<components::Callback>& callbacks, const std::vector<config::CallbackPlan>& plans,
    const components::TrainedTensors* tensors, const components::RunDescription* description = nullptr);

// Describes a run for its callbacks. `plan`: as in plan.toml. `resumed_from`: the folder of the checkpoint, or empty.
std::unique_ptr<components::RunDescription> describe_run(const config::RunPlan& plan, const std::string& resumed_from,
                                                         bool is_temporary);

// An observer that receives some of the events: `every`, `after`, `once` and `priority` of a [[callback]].
//
// Each event belongs to a step. Events from batch_fetched to optimizer_after belong to the current step. Events between
// steps (step_end, validations, checkpoints, epochs) belong to the last completed one. The filter passes all events of
// a step or none, so an observer that subscribes to several events of a step sees all of them.
//
// Events of the run itself (run_setup, run_start, checkpoint_loaded, stop_requested, run_end, run_exception,
// run_teardown) always pass.
class Filtered final : public pipeline::Observer {
 public:
  Filtered(std::unique_ptr<pipeline::Observer> observer, const config::EventFilter& filter)
      : observer_(std::move(observer)), filter_(filter) {}

  bool subscribes(pipeline::Event event) const override { return observer_->subscribes(event); }
  std::string name() const override { return observer_->name(); }
  int32_t priority() const override { return filter_.priority.value_or(observer_->priority()); }
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::CallbackRequests& requests) override;
  std::string save_state() const override;
  // Throws Error(checkpoint) for bytes that save_state() did not return.
  void load_state(const std::string& bytes) override;

 private:
  struct EventTime {
    int64_t epoch;
    int64_t step;
    bool operator==(const EventTime&) const = default;
  };

  // The filter's state between events.
  struct Memory {
    EventTime decided_for{-1, -1};
    double counted_from_s = 0;  // for an `every` in time units
    int64_t decision = 0;       // whether the events of decided_for pass
    int64_t has_passed = 0;     // whether any events have passed
  };

  bool passes(pipeline::Event event, const pipeline::RunState& state);
  bool is_due(const EventTime& event_time, const pipeline::RunState& state);

  std::unique_ptr<pipeline::Observer> observer_;
  config::EventFilter filter_;
  Memory memory_;
};

}  // namespace tenon::callbacks
