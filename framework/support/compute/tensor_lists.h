// Operations on lists of tensors with few kernel launches. LibTorch's _foreach operators need one dtype for a whole
// list; otherwise they launch at least one kernel for each tensor.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_neg.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/ScalarType.h>

namespace tenon::support {

// Two lists of tensors of one dtype. The tensors of the same index belong together.
struct TensorPairs {
  std::vector<at::Tensor> first;
  std::vector<at::Tensor> second;
};

// Groups the pairs by dtype. REQUIRES: both lists have the same size, and the tensors of a pair the same dtype.
inline std::vector<TensorPairs> group_by_dtype(const std::vector<at::Tensor>& first,
                                               const std::vector<at::Tensor>& second) {
  std::map<at::ScalarType, TensorPairs> groups;
  for (size_t i = 0; i < first.size(); ++i) {
    TensorPairs& group = groups[first[i].scalar_type()];
    group.first.push_back(first[i]);
    group.second.push_back(second[i]);
  }
  std::vector<TensorPairs> list;
  for (auto& [dtype, group] : groups) list.push_back(std::move(group));
  return list;
}

// Copies the values of `from` into `to`. Call it without autograd.
inline void copy_values(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from) {
  for (const TensorPairs& group : group_by_dtype(to, from)) at::_foreach_copy_(group.first, group.second);
}

// Copies with the same strides. Call it without autograd.
inline std::vector<at::Tensor> copy_tensors(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(at::empty_like(tensor));
  copy_values(copies, tensors);
  return copies;
}

// The tensors' memory as integers: arithmetic on them wraps around and is exact for every bit pattern, also for NaN.
inline std::vector<at::Tensor> bits_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> bits;
  for (const at::Tensor& tensor : tensors) {
    const size_t bytes = tensor.element_size();
    bits.push_back(tensor.view(bytes == 8 ? at::kLong : bytes == 4 ? at::kInt : bytes == 2 ? at::kShort : at::kChar));
  }
  return bits;
}

// Swaps the values, not the tensors, because others may hold views of either, which would still refer to the old
// storage. Sums and differences of the bits as integers need no other memory, so it also works if none is left.
// REQUIRES: as group_by_dtype(). Call it without autograd.
inline void swap_values(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (const auto& [first, second] : group_by_dtype(bits_of(a), bits_of(b))) {
    at::_foreach_add_(first, second);  // a + b, b
    at::_foreach_sub_(second, first);  // a + b, -a
    at::_foreach_add_(first, second);  // b, -a
    at::_foreach_neg_(second);         // b, a
  }
}

}  // namespace tenon::support
