// Collects on the device whether a step computed NaN or infinity.
#pragma once

#include <ATen/core/Tensor.h>

namespace tenon::pipeline {

class NonFiniteFlag {
 public:
  explicit NonFiniteFlag(const c10::Device& device);

  // Sets the flag if an element of `values` is NaN or infinite; otherwise leaves it. `values`: floating point, on the
  // flag's device. Does not synchronise with the device.
  void note(const at::Tensor& values);
  void clear();

  // [] float32: 0 or 1. Returns the tensor itself.
  at::Tensor& tensor() { return flag_; }
  const at::Tensor& one() const { return one_; }  // [] float32 on the same device

 private:
  at::Tensor flag_;
  at::Tensor one_;
};

}  // namespace tenon::pipeline
