#include "framework/optimization/update_rule.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "framework/support/compute/tensor_lists.h"

namespace tenon::optimization {
namespace {

// Computes tensors += skip * (copies - tensors) on the bits as integers, which wrap around: this selects one of the two
// exactly, also if a skipped step has computed NaN. It takes three kernels for the whole list.
void choose(const at::Tensor& skip, const std::vector<at::Tensor>& copies, const std::vector<at::Tensor>& tensors) {
  const std::vector<at::Tensor> bits = support::bits_of(tensors);
  const std::vector<at::Tensor> changes = at::_foreach_sub(support::bits_of(copies), bits);
  at::_foreach_mul_(changes, skip.to(bits.front().scalar_type()));
  at::_foreach_add_(bits, changes);
}

constexpr uint32_t kSign = 0x80000000, kExponent = 0x7f800000, kFraction = 0x007fffff;

bool has_denormal(std::span<const float> elements) {
  uint32_t found = 0;
  for (const float element : elements) {
    const auto bits = std::bit_cast<uint32_t>(element);
    found |= static_cast<uint32_t>((bits & kExponent) == 0) & static_cast<uint32_t>((bits & kFraction) != 0);
  }
  return found != 0;
}

}  // namespace

at::Tensor UpdateRule::make_zeros(size_t index, const at::Tensor& parameter) const {
  const bool counts = std::strcmp(state_names_[index], "step") == 0;
  return counts ? at::zeros({}, parameter.options().dtype(at::kFloat)) : at::zeros_like(parameter);
}

Snapshot::Snapshot(const UpdateLists& lists, const at::Tensor& skip) : skip_(skip) {
  if (!skip.defined()) return;
  tensors_ = support::copy_tensors(lists.tensors);
  for (const std::vector<at::Tensor>& index : lists.state) state_.push_back(support::copy_tensors(index));
}

void Snapshot::restore_if_skipped(UpdateLists& lists) const {
  if (!skip_.defined()) return;
  choose(skip_, tensors_, lists.tensors);
  for (size_t k = 0; k < state_.size(); ++k) choose(skip_, state_[k], lists.state[k]);
}

// Most parts have no denormal number, and are only read.
void flush_denormals(const at::Tensor& tensor) {
  constexpr size_t kPart = 4096;
  if (!tensor.is_cpu() || tensor.scalar_type() != at::kFloat) return;
  std::span<float> left(tensor.mutable_data_ptr<float>(), static_cast<size_t>(tensor.numel()));
  while (!left.empty()) {
    const std::span<float> part = left.first(std::min(left.size(), kPart));
    left = left.subspan(part.size());
    if (!has_denormal(part)) continue;
    for (float& element : part) {
      const auto bits = std::bit_cast<uint32_t>(element);
      if ((bits & kExponent) == 0) element = std::bit_cast<float>(bits & kSign);
    }
  }
}

}  // namespace tenon::optimization
