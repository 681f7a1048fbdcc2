#include "framework/optimization/snapshot.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>

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

}  // namespace

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

}  // namespace tenon::optimization
