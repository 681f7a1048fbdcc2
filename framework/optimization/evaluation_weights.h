// Weights that are evaluated and saved instead of the weights that training updates.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace tenon::optimization
