#pragma once

#include <tenon/plugin.hpp>

#include "plugins/callbacks/run_statistics/tensor_statistics.h"

// Logs statistics of the gradients before clipping.
class GradientStatistics final {
 public:
  static std::vector<tenon::Param> schema() { return TensorStatistics::schema("gradient"); }
  explicit GradientStatistics(const tenon::Params& params) : statistics_(params, "gradients") {}

  void on_run_setup(const tenon::Run& run) { statistics_.choose(tenon::RunTensors(run)); }

  void on_grads_ready(const tenon::Run& run, tenon::Requests& requests) const {
    if (!statistics_.is_due(run.step() + 1)) return;  // the current step
    const tenon::RunTensors tensors(run);
    std::vector<std::string> names;
    std::vector<tenon_tensor*> gradients;
    for (const size_t index : statistics_.chosen()) {
      const tenon::RunTensor tensor = tensors[index];
      if (!tensor.gradient) continue;  // the loss does not depend on it
      names.push_back(tensor.name);
      gradients.push_back(tensor.gradient);
    }
    statistics_.log(run, names, tensors.statistics(gradients, statistics_.requested()));
    requests.log();
  }

 private:
  TensorStatistics statistics_;
};
