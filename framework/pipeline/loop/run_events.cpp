#include "framework/pipeline/loop/run_events.h"

#include "framework/support/diagnostics/log.h"

namespace tenon::pipeline {

namespace {

// Shows values to observers while it lives, also if one of them throws.
class EventValues {
 public:
  EventValues(RunState& state, const NamedMetrics* values) : state_(state) { state_.event_values = values; }
  ~EventValues() { state_.event_values = nullptr; }
  EventValues(const EventValues&) = delete;

 private:
  RunState& state_;
};

}  // namespace

RunEvents::RunEvents(Training& training, RunState& state, const TrainStep& step, Requests& requests,
                     const std::vector<Observer*>& observers, Recorder& recorder)
    : training_(training),
      state_(state),
      step_(step),
      requests_(requests),
      dispatcher_(observers, training.times),
      recorder_(recorder) {}

void RunEvents::start_clock(double time_s) {
  start_ = std::chrono::steady_clock::now() -
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(time_s));
}

void RunEvents::dispatch(Event event) {
  update_time();
  state_.host_waits = step_.readback().waits() + CountWaits::total() - first_wait_;
  state_.graph_replays = step_.graph_replays();
  dispatcher_.dispatch(event, state_, requests_.of_callbacks());
}

void RunEvents::dispatch(Event event, const NamedMetrics* values) {
  const EventValues shown(state_, values);
  dispatch(event);
}

void RunEvents::dispatch_to_all(Event event) {
  dispatcher_.dispatch_to_all(event, state_, requests_.of_callbacks(),
                              [](const std::exception& error) { support::log_warning(error.what()); });
}

void RunEvents::record(LineKind kind, const NamedMetrics& metrics) {
  const InStage stage(training_.times, Stage::history);
  recorder_.append_line(kind, state_, metrics);
}

void RunEvents::remember(const NamedMetrics& metrics) {
  for (const auto& [name, value] : metrics) state_.metrics[name] = value;
}

void RunEvents::take_scalars(NamedMetrics& metrics) {
  for (const auto& [name, value] : requests_.take_scalars()) {
    state_.metrics[name] = value;
    metrics.emplace_back(name, value);
  }
}

void RunEvents::record_remaining_scalars() {
  NamedMetrics metrics;
  take_scalars(metrics);
  if (!metrics.empty()) record(LineKind::step, metrics);
}

void RunEvents::update_time() {
  state_.time_s = elapsed_s();
  state_.data_wait_s = training_.times.seconds(Stage::data);
}

}  // namespace tenon::pipeline
