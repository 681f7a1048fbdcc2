#include "framework/optimization/update_rule.h"

#include <cstring>

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace tenon::optimization {

at::Tensor UpdateRule::make_zeros(size_t index, const at::Tensor& parameter) const {
  const bool counts = std::strcmp(state_names_[index], "step") == 0;
  return counts ? at::zeros({}, parameter.options().dtype(at::kFloat)) : at::zeros_like(parameter);
}

}  // namespace tenon::optimization
