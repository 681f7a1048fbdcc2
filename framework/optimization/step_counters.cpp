#include "framework/optimization/step_counters.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>

namespace tenon::optimization {

void advance(std::vector<at::Tensor>& steps) {
  // A float in host memory needs no operator call.
  if (steps.front().is_cpu()) {
    for (at::Tensor& step : steps) *step.mutable_data_ptr<float>() += 1;
  } else {
    at::_foreach_add_(steps, 1);
  }
}

void correct(std::vector<at::Tensor>& steps, const at::Tensor& skip) {
  if (skip.defined()) at::_foreach_sub_(steps, std::vector<at::Tensor>(steps.size(), skip));
}

}  // namespace tenon::optimization
