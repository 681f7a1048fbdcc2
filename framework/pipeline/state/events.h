// The events of a run and their observers. The order of events is the loop at the top of tenon/callback.h.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <tenon/callback.h>

#include "framework/pipeline/state/run_state.h"
#include "framework/pipeline/state/stage_times.h"

namespace tenon::pipeline {

enum class Event : uint32_t {
  run_setup = TENON_RUN_SETUP,
  run_start = TENON_RUN_START,
  checkpoint_loaded = TENON_CHECKPOINT_LOADED,
  epoch_start = TENON_EPOCH_START,
  batch_fetched = TENON_BATCH_FETCHED,
  step_start = TENON_STEP_START,
  forward_end = TENON_FORWARD_END,
  loss_end = TENON_LOSS_END,
  backward_end = TENON_BACKWARD_END,
  grads_ready = TENON_GRADS_READY,
  optimizer_before = TENON_OPTIMIZER_BEFORE,
  optimizer_after = TENON_OPTIMIZER_AFTER,
  step_end = TENON_STEP_END,
  validation_start = TENON_VALIDATION_START,
  validation_batch_end = TENON_VALIDATION_BATCH_END,
  validation_end = TENON_VALIDATION_END,
  log = TENON_LOG,
  checkpoint_before = TENON_CHECKPOINT_BEFORE,
  checkpoint_after = TENON_CHECKPOINT_AFTER,
  stop_requested = TENON_STOP_REQUESTED,
  epoch_end = TENON_EPOCH_END,
  run_end = TENON_RUN_END,
  run_exception = TENON_RUN_EXCEPTION,
  run_teardown = TENON_RUN_TEARDOWN,
};

// Requests of observers. The loop handles them after the current step and then clears them.
struct CallbackRequests {
  bool stop = false;
  bool save = false;
  bool evaluate = false;
  bool log = false;
  std::string reason;    // of the first stop request
  MetricValues scalars;  // for the next line of the history
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual bool subscribes(Event event) const = 0;
  // The name for timings: "progress", "callback early_stopping".
  virtual std::string name() const { return "observer"; }
  // Observers with a smaller priority are called first; those with equal priority in the order they were added.
  virtual int32_t priority() const { return 0; }
  // Adds to `requests`; never clears the requests of other observers.
  virtual void on_event(Event event, const RunState& state, CallbackRequests& requests) = 0;
  // The observer's state as bytes, for checkpoints. load_state() is called before the next event.
  virtual std::string save_state() const { return {}; }
  virtual void load_state(const std::string&) {}
};

// Dispatches events to the observers, in order of priority. An event without subscribers costs one check of an empty
// list.
class EventDispatcher {
 public:
  // Observers and times must outlive this object. Each observer is timed as a separate stage.
  EventDispatcher(std::vector<Observer*> observers, StageTimes& times);
  void dispatch(Event event, const RunState& state, CallbackRequests& requests) const {
    for (const Listener& listener : by_event_[static_cast<uint32_t>(event)]) {
      const InStage stage(times_, listener.stage);
      listener.observer->on_event(event, state, requests);
    }
  }

  // Calls every observer even if one throws; `on_failure` receives each exception.
  void dispatch_to_all(Event event, const RunState& state, CallbackRequests& requests,
                       const std::function<void(const std::exception&)>& on_failure) const;

 private:
  struct Listener {
    Observer* observer;
    Stage stage;
  };
  StageTimes& times_;
  std::vector<Listener> by_event_[TENON_EVENT_COUNT];
};

}  // namespace tenon::pipeline
