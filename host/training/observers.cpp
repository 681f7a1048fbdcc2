#include "host/training/observers.h"

#include <filesystem>
#include <utility>

#include "framework/pipeline/device/make_histogram.h"
#include "framework/profiling/trace.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/diagnostics/timeline.h"

namespace tenon::host {

using pipeline::Event;

void HistogramObserver::on_event(Event event, const pipeline::RunState& state, pipeline::CallbackRequests&) {
  const std::vector<components::NamedTensor>& tensors = model_.tensors();
  if (event == Event::optimizer_before) {
    found_.clear();
    if (!due_.is_due_next(state, state.time_s)) return;
    for (const components::NamedTensor& one : tensors)
      if (one.trainable && one.tensor.grad().defined()) add("gradients/", one.name, one.tensor.grad());
    return;
  }
  if (!due_.advance(state, state.time_s)) return;
  for (const components::NamedTensor& one : tensors)
    if (one.trainable) add("weights/", one.name, one.tensor);
  take_(state.step, found_);
  found_.clear();
  due_.restart(state.time_s);
}

void HistogramObserver::add(const char* kind, const std::string& name, const at::Tensor& values) {
  if (auto histogram = pipeline::make_histogram(values)) found_.push_back({kind + name, std::move(*histogram)});
}

bool TraceObserver::subscribes(Event event) const {
  return event == Event::step_start || event == Event::step_end || event == Event::run_end ||
         event == Event::run_exception;
}

void TraceObserver::on_event(Event event, const pipeline::RunState& state, pipeline::CallbackRequests&) {
  if (is_over_) return;
  if (event != Event::step_start) {
    if (event != Event::step_end || state.step >= last_) end(state);
  } else if (!operators_ && state.step + 1 >= first_ && state.step < last_) {
    operators_ = std::make_unique<profiling::OperatorTrace>(device_);
    support::start_timeline();
  }
}

void TraceObserver::end(const pipeline::RunState& state) {
  is_over_ = true;
  if (!operators_) {
    support::log_warning("--trace: the run ended after step {}, before step {}; nothing was traced", state.step,
                         first_);
    return;
  }
  const support::Timeline timeline = support::stop_timeline();
  const std::string file = state.rank == 0 ? "trace.json" : "trace.rank" + std::to_string(state.rank) + ".json";
  profiling::write_trace(operators_->stop(), timeline, state.rank, std::filesystem::path(state.folder) / file);
  operators_.reset();
}

}  // namespace tenon::host
