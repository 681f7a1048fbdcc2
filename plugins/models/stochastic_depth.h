// Stochastic depth: Huang et al., "Deep networks with stochastic depth", arXiv:1603.09382. Each sample of the batch
// independently skips a residual branch, like torchvision's mode "row".
#pragma once

#include <tenon/ops.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenon::components {

// In training, zeroes each row of `branch` ([N, ...]) with this probability, and scales the other rows by 1 / (1 -
// probability), in place. REQUIRES: 0 <= probability < 1, and no graph node has saved `branch`.
inline void drop_rows(const Tensor& branch, double probability) {
  if (!branch.checked_frame().is_training() || probability == 0) return;
  std::vector<int64_t> one_each = branch.shape();
  std::fill(one_each.begin() + 1, one_each.end(), 1);
  branch *= dropout(new_ones(branch, one_each), probability);
}

}  // namespace tenon::components
