// Buffers of a model, such as the statistics of batch norms, that a skipped step must not leave at NaN or infinity.
#pragma once

#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/model.h"

namespace tenon::pipeline {

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
