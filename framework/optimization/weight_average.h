// A running average of the weights, as torch.optim.swa_utils.AveragedModel(use_buffers=True).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/run_plan.h"
#include "framework/optimization/optimizer.h"

namespace tenon::optimization {

// Floating-point tensors are averaged, batch statistics among them, so that no pass over the data has to make them
// anew; others (counters) are followed.
class WeightAverage {
 public:
  // Keeps the tensors, not copies of them.
  WeightAverage(const config::AveragePlan& plan, std::vector<NamedTensor> tensors);

  // Takes the weights as they are into the average; the first time they are the average.
  void update();

  int64_t count() const { return count_; }           // of updates
  void set_count(int64_t count) { count_ = count; }  // for a run that is resumed, before what it had is put in place

  // Of the two sets of tensors the one that is not in the model now, by the same names: the average, or, while an
  // InPlace lives, the weights. The tensors themselves.
  std::vector<NamedTensor> put_by() const;

  // Puts the average in the place of the weights while it lives; nothing where there is none yet, or `average` is null.
  class InPlace {
   public:
    explicit InPlace(WeightAverage* average);
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    WeightAverage* average_;
  };

 private:
  void exchange();

  config::AveragePlan plan_;
  std::vector<std::string> names_, followed_names_;
  std::vector<at::Tensor> weights_;  // of the model: those that are averaged
  std::vector<at::Tensor> averages_;
  std::vector<at::Tensor> followed_weights_;
  std::vector<at::Tensor> followed_;
  int64_t count_ = 0;
};

}  // namespace tenon::optimization
