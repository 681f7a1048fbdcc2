#pragma once

#include <tenon/plugin.hpp>

#include "plugins/callbacks/run_statistics/tensor_figures.h"

// Logs statistics of the gradients before clipping.
class GradientStatistics final {
 public:
  static std::vector<tenon::Param> schema() { return TensorFigures::schema("gradient"); }
  explicit GradientStatistics(const tenon::Params& params) : figures_(params, "gradients") {}

  void on_run_setup(const tenon::Run& run) { figures_.choose(tenon::RunTensors(run)); }

  void on_grads_ready(const tenon::Run& run, tenon::Verdict& verdict) const {
    if (!figures_.is_due(run.step() + 1)) return;  // the current step
    const tenon::RunTensors tensors(run);
    std::vector<std::string> names;
    std::vector<tenon_tensor*> gradients;
    for (const size_t index : figures_.chosen()) {
      const tenon::RunTensor tensor = tensors[index];
      if (!tensor.gradient) continue;  // the loss does not depend on it
      names.push_back(tensor.name);
      gradients.push_back(tensor.gradient);
    }
    figures_.log(run, names, tensors.statistics(gradients, figures_.wanted()));
    verdict.log();
  }

 private:
  TensorFigures figures_;
};
