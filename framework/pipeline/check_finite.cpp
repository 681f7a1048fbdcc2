#include "framework/pipeline/check_finite.h"

#include <torch/torch.h>

#include <cmath>

#include "framework/support/error.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

void check_losses(const Training& training, const std::vector<LossValue>& values, int64_t step) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].weight == 0 || std::isfinite(values[i].mean)) continue;
    throw Error(ErrorKind::non_finite, training.plan->losses[i].place + ": the loss " + training.losses[i].name() +
                                           " is " + (std::isnan(values[i].mean) ? "NaN" : "infinite") + " in step " +
                                           std::to_string(step) +
                                           "; expected a finite number: lower optimizer.lr, or look for bad samples");
  }
}

void check_gradients(const Training& training, int64_t step) {
  std::vector<at::Tensor> gradients;
  for (const plugins::NamedTensor& named : training.model.tensors())
    if (named.trainable && named.tensor.grad().defined()) gradients.push_back(named.tensor.grad());
  if (gradients.empty()) return;
  // The largest magnitude, not the sum of squares: that overflows where every gradient is still finite.
  const std::vector<at::Tensor> norms = at::_foreach_norm(gradients, std::numeric_limits<double>::infinity());
  if (at::stack(norms).isfinite().all().item<bool>()) return;
  for (const plugins::NamedTensor& named : training.model.tensors()) {
    if (!named.trainable || !named.tensor.grad().defined()) continue;
    if (named.tensor.grad().isfinite().all().item<bool>()) continue;
    throw Error(ErrorKind::non_finite,
                training.plan->model.place + ": the gradient of " + named.name + " is not finite in step " +
                    std::to_string(step) +
                    ", though the losses are; expected finite numbers: lower optimizer.lr, or look for a root or a "
                    "logarithm near 0 in the model");
  }
}

std::string find_non_finite(std::span<const plugins::NamedTensor> tensors, bool only_trainable) {
  for (const plugins::NamedTensor& named : tensors) {
    if ((only_trainable && !named.trainable) || !at::isFloatingType(named.tensor.scalar_type())) continue;
    if (!named.tensor.isfinite().all().item<bool>()) return named.name;
  }
  return "";
}

}  // namespace tenon::pipeline
