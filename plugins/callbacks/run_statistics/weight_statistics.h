#pragma once

#include <tenon/plugin.hpp>

#include "plugins/callbacks/run_statistics/tensor_statistics.h"

// Logs statistics of the weights after a step, and the relative size of the update.
class WeightStatistics final {
 public:
  static std::vector<tenon::Param> schema() {
    std::vector<tenon::Param> params = TensorStatistics::schema("weight");
    params.push_back(tenon::param("update_ratio", true)
                         .doc("also log the norm of a step's change divided by the norm of the weight before it; needs "
                              "a copy of the weights during the step"));
    return params;
  }
  explicit WeightStatistics(const tenon::Params& params)
      : statistics_(params, "weights"), compares_(params.boolean("update_ratio")) {}

  void on_run_setup(const tenon::Run& run) { statistics_.choose(tenon::RunTensors(run)); }

  void on_optimizer_before(const tenon::Run& run) {
    before_.clear();
    if (!compares_ || !statistics_.is_due(run.step() + 1)) return;
    const tenon::RunTensors tensors(run);
    for (const size_t index : statistics_.chosen()) before_.push_back(tensors.copy(tensors[index].value));
  }

  void on_step_end(const tenon::Run& run, tenon::Requests& requests) {
    if (!statistics_.is_due(run.step())) return;
    const tenon::RunTensors tensors(run);
    std::vector<std::string> names;
    std::vector<tenon_tensor*> weights, before;
    for (const size_t index : statistics_.chosen()) {
      const tenon::RunTensor tensor = tensors[index];
      names.push_back(tensor.name);
      weights.push_back(tensor.value);
    }
    for (const tenon::OwnedTensor& copy : before_) before.push_back(copy.handle());
    statistics_.log(run, names, tensors.statistics(weights, statistics_.requested()));
    if (before.size() == weights.size() && !before.empty()) log_ratios(run, names, tensors, weights, before);
    before_.clear();
    requests.log();
  }

 private:
  static void log_ratios(const tenon::Run& run, const std::vector<std::string>& names, const tenon::RunTensors& tensors,
                         const std::vector<tenon_tensor*>& weights, const std::vector<tenon_tensor*>& before) {
    const std::vector<double> changes = tensors.statistics(weights, TENON_STATISTIC_NORM, before);
    const std::vector<double> norms = tensors.statistics(before, TENON_STATISTIC_NORM);
    for (size_t i = 0; i < names.size(); ++i)
      run.log_scalar("weights/update_ratio/" + names[i], norms[i] > 0 ? changes[i] / norms[i] : std::nan(""));
  }

  TensorStatistics statistics_;
  bool compares_;
  std::vector<tenon::OwnedTensor>
      before_;  // copies of statistics_.chosen(), from optimizer_before to the end of the step
};
