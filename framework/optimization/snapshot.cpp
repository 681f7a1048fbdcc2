#include "framework/optimization/snapshot.h"

#include <ATen/ops/where.h>

namespace tenon::optimization {
namespace {

std::vector<at::Tensor> copy(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

// Selects with where() instead of arithmetic, because a skipped step may have computed NaN.
void choose(const at::Tensor& skip, const std::vector<at::Tensor>& copies, std::vector<at::Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].copy_(at::where(skip, copies[i], tensors[i]));
}

}  // namespace

Snapshot::Snapshot(const UpdateLists& lists, const at::Tensor& skip) {
  if (!skip.defined()) return;
  skip_ = skip.to(at::kBool);
  tensors_ = copy(lists.tensors);
  for (const std::vector<at::Tensor>& index : lists.state) state_.push_back(copy(index));
}

void Snapshot::restore_if_skipped(UpdateLists& lists) const {
  if (!skip_.defined()) return;
  choose(skip_, tensors_, lists.tensors);
  for (size_t k = 0; k < state_.size(); ++k) choose(skip_, state_[k], lists.state[k]);
}

}  // namespace tenon::optimization
