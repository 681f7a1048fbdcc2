#include "framework/pipeline/train_step.h"

#include <torch/torch.h>

#include <cmath>

#include "framework/support/error.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

namespace {

// The sum of the losses by their factors. One loss of factor 1 stays as it is, with no operation to round it.
at::Tensor add_up(const std::vector<plugins::Loss>& losses, const std::vector<plugins::Loss::Result>& results) {
  at::Tensor total;
  for (size_t i = 0; i < losses.size(); ++i) {
    const at::Tensor part = losses[i].factor() == 1 ? results[i].loss : results[i].loss * losses[i].factor();
    total = total.defined() ? total + part : part;
  }
  return total;
}

// Before backward, so that the weights are those of the last good step.
void check_finite(const Training& training, const std::vector<plugins::Loss::Result>& results, int64_t step) {
  for (size_t i = 0; i < results.size(); ++i) {
    const double value = results[i].loss.item<double>();
    if (!std::isfinite(value))
      throw Error(ErrorKind::non_finite, training.plan->losses[i].place + ": the loss " + training.losses[i].name() +
                                             " is " + (std::isnan(value) ? "NaN" : "infinite") + " in step " +
                                             std::to_string(step) +
                                             "; expected a finite number: lower optimizer.lr, or look for bad samples");
  }
}

}  // namespace

std::vector<plugins::Loss::Result> train_step(Training& training, const data::Batch& batch,
                                              const plugins::RunPosition& position, double learning_rate,
                                              const std::function<void(Event)>& announce) {
  DataFlow& data = *training.train;
  Flow flow = data.to_flow(batch);
  flow.outputs = training.model.forward(position, data.model.front().gather(flow));
  announce(Event::forward_end);

  std::vector<plugins::Loss::Result> results;
  results.reserve(training.losses.size());
  for (size_t i = 0; i < training.losses.size(); ++i)
    results.push_back(training.losses[i].forward(position, data.losses[i].gather(flow)));
  check_finite(training, results, position.step + 1);
  announce(Event::loss_end);

  const at::Tensor total = add_up(training.losses, results);
  if (!total.requires_grad())
    throw Error(ErrorKind::plugin,
                training.losses.front().component().describe() +
                    ", forward: the loss does not depend on any trainable parameter, so there is no gradient; "
                    "expected a result of operators over the model's outputs");
  total.backward();
  announce(Event::backward_end);
  announce(Event::grads_ready);

  announce(Event::optimizer_before);
  training.optimizer->step(learning_rate);
  training.optimizer->zero_grad();
  announce(Event::optimizer_after);
  return results;
}

}  // namespace tenon::pipeline
