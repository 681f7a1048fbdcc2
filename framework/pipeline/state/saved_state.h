// The state that resuming a run needs in addition to the model's weights.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

// Names have dots: `optimizer.fc.weight.exp_avg`, `epoch`, `log.counted_from_s`.
struct SavedState {
  std::map<std::string, double> numbers;
  std::map<std::string, at::Tensor> tensors;

  // Stores bytes as a tensor of [n] uint8.
  void put_bytes(const std::string& name, std::string_view bytes);

  // These throw Error(checkpoint) naming the missing entry.
  double number(const std::string& name) const;
  int64_t count(const std::string& name) const;  // a number that was saved as an integer
  const at::Tensor& tensor(const std::string& name) const;
  std::string bytes(const std::string& name) const;

  // All tensors with names that start with `prefix`, which is removed.
  std::vector<optimization::NamedTensor> tensors_under(const std::string& prefix) const;
};

}  // namespace tenon::pipeline
