// Reports what happens in a run: events to the observers, metrics to the recorder.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "framework/pipeline/build/training.h"
#include "framework/pipeline/device/device_memory.h"
#include "framework/pipeline/loop/loop_state.h"
#include "framework/pipeline/loop/requests.h"
#include "framework/pipeline/loop/train_step.h"
#include "framework/pipeline/state/events.h"
#include "framework/pipeline/state/recorder.h"
#include "framework/pipeline/state/run_state.h"

namespace tenon::pipeline {

class RunEvents {
 public:
  // All must outlive this object. `state`: of the run, which this object completes before each event.
  RunEvents(Training& training, RunState& state, const TrainStep& step, Requests& requests,
            const std::vector<Observer*>& observers, Recorder& recorder);

  // Starts the time of the run. `time_s`: the seconds that have passed.
  void start_clock(double time_s = 0);
  double elapsed_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  void dispatch(Event event);
  // Dispatches an event that adds these values to the history; null: none.
  void dispatch(Event event, const NamedMetrics* values);
  // Used at the end of a run. A failing observer must not hide the run's result or skip the other observers.
  void dispatch_to_all(Event event);

  // Writes a line of the history.
  void record(LineKind kind, const NamedMetrics& metrics);
  // Makes these the latest metrics of the run.
  void remember(const NamedMetrics& metrics);
  // Moves the values that callbacks logged to the metrics of the run, and adds them to `metrics`.
  void take_scalars(NamedMetrics& metrics);
  // Records them in a separate line, if there are any.
  void record_remaining_scalars();
  void update_time();

 private:
  Training& training_;
  RunState& state_;
  const TrainStep& step_;
  Requests& requests_;
  EventDispatcher dispatcher_;
  Recorder& recorder_;
  int64_t first_wait_ = CountWaits::total();
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tenon::pipeline
