#include "framework/pipeline/check_finite.h"

#include <torch/types.h>

#include <cmath>

#include "framework/support/error.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

void refuse_loss(const Training& training, size_t loss, double value, int64_t step, const std::string& after) {
  throw Error(ErrorKind::non_finite, training.plan->losses[loss].place + ": the loss " + training.losses[loss].name() +
                                         " is " + (std::isnan(value) ? "NaN" : "infinite") + " in step " +
                                         std::to_string(step) + after +
                                         "; expected a finite number: lower optimizer.lr, or look for bad samples");
}

void refuse_gradient(const Training& training, const std::string& parameter, int64_t step, const std::string& after) {
  const std::string which = parameter.empty() ? "a parameter" : parameter;
  throw Error(ErrorKind::non_finite,
              training.plan->model.place + ": the gradient of " + which + " is not finite in step " +
                  std::to_string(step) + after +
                  ", though the losses are; expected finite numbers: lower optimizer.lr, or look for a root or a "
                  "logarithm near 0 in the model");
}

std::string find_non_finite(std::span<const plugins::NamedTensor> tensors, bool only_trainable) {
  for (const plugins::NamedTensor& named : tensors) {
    if ((only_trainable && !named.trainable) || !at::isFloatingType(named.tensor.scalar_type())) continue;
    if (!named.tensor.isfinite().all().item<bool>()) return named.name;
  }
  return "";
}

}  // namespace tenon::pipeline
