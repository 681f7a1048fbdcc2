// Runs the model and the losses on a batch, in the run's precision.
#pragma once

#include <span>
#include <vector>

#include "framework/pipeline/build/training.h"
#include "framework/pipeline/losses/loss_sums.h"

namespace tenon::pipeline {

// Fills batch_tensors.outputs.
void run_model(Training& training, BoundDataset& data, BatchTensors& batch_tensors,
               const plugins::StepContext& context);

// Returns one result per loss. `data`: the source of `batch_tensors`.
std::vector<plugins::Loss::Result> compute_losses(Training& training, BoundDataset& data,
                                                  const BatchTensors& batch_tensors,
                                                  const plugins::StepContext& context);

// The losses of a batch while they are copied to the host.
class PendingLosses {
 public:
  explicit PendingLosses(const std::vector<plugins::Loss::Result>& results);

  // Appends the scalars. read() takes their values.
  void add_scalars_to(std::vector<at::Tensor>& scalars) const;

  // Returns one value per loss, read from the values of the scalars, which it removes from the front. Throws
  // Error(plugin) for a weight that is negative or not finite.
  std::vector<LossValue> read(const std::vector<plugins::Loss>& losses, std::span<const double>& values,
                              const plugins::StepContext& context) const;

  // The same immediately; synchronises with the device.
  std::vector<LossValue> read_now(const std::vector<plugins::Loss>& losses, const plugins::StepContext& context) const;

 private:
  struct Result {
    at::Tensor loss;
    at::Tensor weight_tensor;  // undefined: use weight
    double weight;
    std::vector<at::Tensor> parts;
  };
  std::vector<Result> results_;
};

}  // namespace tenon::pipeline
