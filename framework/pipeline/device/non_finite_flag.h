// NaN and infinity on the device: a flag for the values of a step, and buffers that stay finite.
#pragma once

#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/model.h"

namespace tenon::pipeline {

// Collects whether a step computed NaN or infinity.
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

// Restores the buffers of a model, such as running statistics, after a step that is skipped.
class FiniteBuffers {
 public:
  // Keeps the floating-point buffers and copies of their values.
  explicit FiniteBuffers(const components::Model& model);

  // Elements that have become NaN or infinite get their kept values. The others are kept. Does not synchronise with the
  // device.
  void restore();

 private:
  struct Group {
    std::vector<at::Tensor> buffers;
    at::Tensor kept;  // all of their elements
  };
  std::map<at::ScalarType, Group> groups_;
};

}  // namespace tenon::pipeline
