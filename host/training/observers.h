// Observers of training: histograms and timelines.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/run_folder/histogram.h"
#include "framework/components/kinds/model.h"
#include "framework/pipeline/state/due.h"
#include "framework/pipeline/state/events.h"
#include "framework/profiling/trace.h"

namespace tenon::host {

// log.histograms: histograms of weights and gradients for TensorBoard.
class HistogramObserver final : public pipeline::Observer {
 public:
  using Take = std::function<void(int64_t step, const std::vector<artifacts::NamedHistogram>&)>;

  // `take` is called after a due step with the histograms of each trainable parameter: "gradients/NAME", the gradient
  // that the optimizer used, and "weights/NAME".
  HistogramObserver(const config::Period& every, const components::Model& model, Take take)
      : due_(every), model_(model), take_(std::move(take)) {}

  bool subscribes(pipeline::Event event) const override {
    return event == pipeline::Event::optimizer_before || event == pipeline::Event::step_end;
  }
  std::string name() const override { return "histograms"; }
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::CallbackRequests& requests) override;

 private:
  void add(const char* kind, const std::string& name, const at::Tensor& values);

  pipeline::Due due_;
  const components::Model& model_;
  Take take_;
  std::vector<artifacts::NamedHistogram> found_;  // of the current step
};

// `--trace steps=10..20`: writes a timeline of these steps to trace.json in the run folder, or to trace.rank<N>.json on
// ranks other than 0, after the last of the steps or at the end of the run.
class TraceObserver final : public pipeline::Observer {
 public:
  // REQUIRES: 1 <= first <= last.
  TraceObserver(int64_t first, int64_t last, const c10::Device& device) : first_(first), last_(last), device_(device) {}

  bool subscribes(pipeline::Event event) const override;
  std::string name() const override { return "trace"; }
  int32_t priority() const override { return INT32_MIN; }
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::CallbackRequests& requests) override;

 private:
  void end(const pipeline::RunState& state);

  int64_t first_;
  int64_t last_;
  c10::Device device_;
  bool is_over_ = false;
  std::unique_ptr<profiling::OperatorTrace> operators_;  // set while tracing
};

}  // namespace tenon::host
