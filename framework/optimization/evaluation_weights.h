// Weights that are evaluated and saved instead of the weights that training updates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/run_plan.h"
#include "framework/optimization/optimizer.h"

namespace tenon::optimization {

class EvaluationWeights {
 public:
  virtual ~EvaluationWeights() = default;
  EvaluationWeights(const EvaluationWeights&) = delete;
  EvaluationWeights& operator=(const EvaluationWeights&) = delete;

  // Takes the current weights into account. Call it after optimizer steps.
  virtual void update() = 0;

  int64_t count() const { return count_; }           // number of updates
  void set_count(int64_t count) { count_ = count; }  // when resuming, before the tensors are restored

  // Whether the weights for evaluation are computed by several processes, so that all of them must create an InPlace at
  // the same time.
  virtual bool needs_all_processes() const { return false; }

  // The set of tensors that is currently not in the model, under the same names: the weights for evaluation, or those
  // of training while an InPlace exists. Returns the tensors themselves.
  virtual std::vector<NamedTensor> weights_outside_model() = 0;

  // Swaps the weights for evaluation into the model until restore(). Does nothing before the first update or if
  // `weights` is null.
  class InPlace {
   public:
    explicit InPlace(EvaluationWeights* weights);
    // Restores after an exception, unless the device has failed.
    ~InPlace();
    void restore();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    EvaluationWeights* weights_;
  };

 protected:
  EvaluationWeights() = default;

  // Swaps the model's values with those of weights_outside_model(). Alternates between both sets.
  virtual void exchange() = 0;

  int64_t count_ = 0;
};

// A running average of the weights, the same as torch.optim.swa_utils.AveragedModel(use_buffers=True).
// Floating-point tensors are averaged, including batch statistics, so these need no extra pass over the data. Other
// tensors (counters) are copied.
class WeightAverage final : public EvaluationWeights {
 public:
  // Keeps the tensors, not copies of them.
  WeightAverage(const config::AveragePlan& plan, const std::vector<NamedTensor>& tensors);

  // Adds the current weights to the average; the first update copies them.
  void update() override;

  std::vector<NamedTensor> weights_outside_model() override;

 private:
  void exchange() override;

  config::AveragePlan plan_;
  std::vector<std::string> names_, followed_names_;
  std::vector<at::Tensor> weights_;  // of the model, averaged
  std::vector<at::Tensor> averages_;
  std::vector<at::Tensor> followed_weights_;
  std::vector<at::Tensor> followed_;
};

// The weights that a schedule-free optimizer evaluates, computed from its state.
// Takes memory for one copy of the parameters, only while the weights are evaluated or saved. Parameters that are
// frozen for the whole run are not copied.
class ScheduleFreeWeights final : public EvaluationWeights {
 public:
  // Replaces the tensors of those parameters that other processes update by the tensors of these processes. A
  // collective. `parameters`: their indices in the optimizer.
  using Gather = std::function<void(const std::vector<at::Tensor>& tensors, const std::vector<size_t>& parameters)>;

  // REQUIRES: the optimizer outlives this. `gather`: empty if this process updates all parameters.
  explicit ScheduleFreeWeights(const Optimizer& optimizer, Gather gather = {});
  // Only for some parameters, which this process updates. `is_owned`: one element per parameter.
  ScheduleFreeWeights(const Optimizer& optimizer, const std::vector<bool>& is_owned);

  void update() override { ++count_; }
  bool needs_all_processes() const override { return gather_ != nullptr; }

  std::vector<NamedTensor> weights_outside_model() override;

 private:
  void exchange() override;
  void make_others();

  const Optimizer& optimizer_;
  Gather gather_;
  std::vector<size_t> parameters_;   // indices in the optimizer
  std::vector<at::Tensor> weights_;  // of the model
  std::vector<at::Tensor> others_;   // empty: no memory is held
  bool is_in_model_ = false;         // whether the model has the weights for evaluation
};

}  // namespace tenon::optimization
