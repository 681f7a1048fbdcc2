// What a run needs, beside the model's weights, to go on where it was.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

// By names with dots: `optimizer.fc.weight.exp_avg`, `epoch`, `log.counted_from_s`.
struct SavedState {
  std::map<std::string, double> numbers;
  std::map<std::string, at::Tensor> tensors;

  // Bytes as a tensor of [n] uint8.
  void put_bytes(const std::string& name, std::string_view bytes);

  // These throw Error(checkpoint) naming what is not there.
  double number(const std::string& name) const;
  int64_t count(const std::string& name) const;  // a number that was whole
  const at::Tensor& tensor(const std::string& name) const;
  std::string bytes(const std::string& name) const;

  // All tensors whose names begin with `prefix`, without it.
  std::vector<optimization::NamedTensor> tensors_under(const std::string& prefix) const;
};

}  // namespace tenon::pipeline
