// Stochastic depth: Huang et al., "Deep networks with stochastic depth", arXiv:1603.09382, which leaves out a branch of
// a residual network for one sample of the batch and not for another, as torchvision's mode "row" does.
#pragma once

#include <tenon/ops.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenon::plugins {

// While the frame trains, zeroes each row of `branch` ([N, ...]) with this probability and scales the others by
// 1 / (1 - probability), in place. REQUIRES: 0 <= probability < 1, and that no node of the graph has saved `branch`.
inline void drop_rows(const Tensor& branch, double probability) {
  static const Op new_ones("aten::new_ones");
  const Frame& frame = branch.checked_frame();
  if (!frame.is_training() || probability == 0) return;
  std::vector<int64_t> one_each = branch.shape();
  std::fill(one_each.begin() + 1, one_each.end(), 1);
  branch *= dropout(frame.call(new_ones, {branch, one_each}), probability);
}

}  // namespace tenon::plugins
