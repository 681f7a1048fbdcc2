// log.histograms: histograms of weights and gradients for TensorBoard.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/histogram.h"
#include "framework/components/kinds/model.h"
#include "framework/pipeline/state/due.h"
#include "framework/pipeline/state/events.h"

namespace tenon::host {

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

}  // namespace tenon::host
