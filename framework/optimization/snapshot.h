// Skipping for rules whose operators know of none: what they changed is put back.
#pragma once

#include <vector>

#include "framework/optimization/update_rule.h"

namespace tenon::optimization {

// A copy of the tensors and their state, made only if skip is defined.
class Snapshot {
 public:
  Snapshot(const UpdateLists& lists, const at::Tensor& skip);

  // Where skip is 1, the lists' tensors get their values from the copy; decided on their device.
  void restore_if_skipped(UpdateLists& lists) const;

 private:
  at::Tensor skip_;  // [] bool, or undefined
  std::vector<at::Tensor> tensors_;
  std::vector<std::vector<at::Tensor>> state_;
};

}  // namespace tenon::optimization
