// SGD of a device that uses the CPU's kernels.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <utility>
#include <vector>

namespace tenon::tests {

// LibTorch's kernel of the CPU skips most elements of 16-bit tensors. Replaces those of a call of SGD by float32
// copies, and returns them after the original tensors, to which they must be copied after the call.
inline std::vector<std::pair<at::Tensor, at::Tensor>> use_float_sgd(const c10::OperatorHandle& op,
                                                                    torch::jit::Stack& stack) {
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  const bool is_sgd = op.schema().operator_name().name == "aten::_fused_sgd_";
  const auto first = stack.end() - static_cast<int64_t>(op.schema().arguments().size());
  for (int64_t i = 0; i < 3 && is_sgd; ++i) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : first[i].toTensorVector()) {
      list.push_back(tensor.element_size() == 2 ? tensor.to(at::kFloat) : tensor);
      copies.emplace_back(tensor, list.get(list.size() - 1));
    }
    first[i] = std::move(list);
  }
  return copies;
}

}  // namespace tenon::tests
