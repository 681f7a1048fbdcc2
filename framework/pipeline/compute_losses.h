// The model and the losses of a batch, in the run's precision.
#pragma once

#include <span>
#include <vector>

#include "framework/pipeline/loss_sums.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Fills flow.outputs.
void run_model(Training& training, DataFlow& data, Flow& flow, const plugins::RunPosition& position);

// One result for each loss. `data` is where `flow` comes from.
std::vector<plugins::Loss::Result> compute_losses(Training& training, DataFlow& data, const Flow& flow,
                                                  const plugins::RunPosition& position);

// The losses of a batch on their way to the host.
class LossReading {
 public:
  explicit LossReading(const std::vector<plugins::Loss::Result>& results);

  // What read() needs the values of.
  void add_scalars_to(std::vector<at::Tensor>& scalars) const;

  // One value for each loss, from the values of the scalars; takes those off the front. Throws Error(plugin) for a
  // weight that is negative or not finite.
  std::vector<LossValue> read(const std::vector<plugins::Loss>& losses, std::span<const double>& values,
                              const plugins::RunPosition& position) const;

  // The same at once, which waits for a device.
  std::vector<LossValue> read_now(const std::vector<plugins::Loss>& losses, const plugins::RunPosition& position) const;

 private:
  struct Result {
    at::Tensor loss;
    at::Tensor weight_tensor;  // undefined: weight
    double weight;
    std::vector<at::Tensor> parts;
  };
  std::vector<Result> results_;
};

}  // namespace tenon::pipeline
