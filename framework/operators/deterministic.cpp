#include "framework/operators/replaced_operators.h"

#include <ATen/Context.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/adaptive_avg_pool2d_native.h>
#include <ATen/ops/nll_loss_nd_native.h>
#include <torch/types.h>

#include <utility>

namespace tenon::operators {

at::Tensor adaptive_avg_pool2d(const at::Tensor& input, c10::SymIntArrayRef size) {
  const auto usual = [&] { return at::native::adaptive_avg_pool2d_symint(input, size); };
  if (!at::globalContext().deterministicAlgorithms() || input.dim() < 3 || size.size() != 2) return usual();
  const int64_t height = size[0].expect_int(), width = size[1].expect_int();
  if (height < 1 || width < 1 || input.size(-2) % height != 0 || input.size(-1) % width != 0) return usual();
  std::vector<int64_t> windows(input.sizes().begin(), input.sizes().end() - 2);
  windows.insert(windows.end(), {height, input.size(-2) / height, width, input.size(-1) / width});
  return input.reshape(windows).mean({-3, -1});
}

at::Tensor nll_loss_nd(const at::Tensor& input, const at::Tensor& target, const std::optional<at::Tensor>& weight,
                       int64_t reduction, c10::SymInt ignore_index) {
  if (!at::globalContext().deterministicAlgorithms() || input.dim() < 3 || target.dim() + 1 != input.dim())
    return at::native::nll_loss_nd_symint(input, target, weight, reduction, std::move(ignore_index));
  const int64_t classes = input.size(1);
  const at::Tensor targets = target.reshape({-1});
  const at::Tensor losses = at::nll_loss_symint(input.movedim(1, -1).reshape({-1, classes}), targets, weight,
                                                at::Reduction::None, ignore_index);
  if (reduction == at::Reduction::None) return losses.reshape(target.sizes());
  const at::Tensor sum = losses.sum();
  if (reduction == at::Reduction::Sum) return sum;
  at::Tensor weights = targets.ne(ignore_index.expect_int()).to(losses.scalar_type());
  if (weight && weight->defined()) weights = weights * weight->index_select(0, targets.clamp(0, classes - 1));
  return sum / weights.sum();
}

}  // namespace tenon::operators
