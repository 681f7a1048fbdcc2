// A running average of the weights, the same as torch.optim.swa_utils.AveragedModel(use_buffers=True).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/run_plan.h"
#include "framework/optimization/optimizer.h"

namespace tenon::optimization {

// Floating-point tensors are averaged, including batch statistics, so these need no extra pass over the data. Other
// tensors (counters) are copied.
class WeightAverage {
 public:
  // Keeps the tensors, not copies of them.
  WeightAverage(const config::AveragePlan& plan, const std::vector<NamedTensor>& tensors);

  // Adds the current weights to the average; the first update copies them.
  void update();

  int64_t count() const { return count_; }           // number of updates
  void set_count(int64_t count) { count_ = count; }  // when resuming, before the tensors are restored

  // The set of tensors that is currently not in the model, under the same names: the average, or the weights while an
  // InPlace exists. Returns the tensors themselves.
  std::vector<NamedTensor> put_by() const;

  // Swaps the average into the model until restore(). Does nothing before the first update or if `average` is null.
  class InPlace {
   public:
    explicit InPlace(WeightAverage* average);
    // Restores after an exception, unless the device has failed.
    ~InPlace();
    void restore();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    WeightAverage* average_;
  };

 private:
  void exchange();

  config::AveragePlan plan_;
  std::vector<std::string> names_, followed_names_;
  std::vector<at::Tensor> weights_;  // of the model, averaged
  std::vector<at::Tensor> averages_;
  std::vector<at::Tensor> followed_weights_;
  std::vector<at::Tensor> followed_;
  int64_t count_ = 0;
};

}  // namespace tenon::optimization
