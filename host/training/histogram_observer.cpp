#include "host/training/histogram_observer.h"

#include <utility>

#include "framework/pipeline/device/make_histogram.h"

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

}  // namespace tenon::host
