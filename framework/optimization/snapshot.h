// Undoes skipped steps, for update rules with kernels that cannot skip.
#pragma once

#include <vector>

#include "framework/optimization/update_rule.h"

namespace tenon::optimization {

// Copies the tensors and their state, only if skip is defined.
class Snapshot {
 public:
  Snapshot(const UpdateLists& lists, const at::Tensor& skip);

  // Restores the lists' tensors from the copy if skip is 1; decided on the device.
  void restore_if_skipped(UpdateLists& lists) const;

 private:
  at::Tensor skip_;  // [] float32, or undefined
  std::vector<at::Tensor> tensors_;
  std::vector<std::vector<at::Tensor>> state_;
};

}  // namespace tenon::optimization
