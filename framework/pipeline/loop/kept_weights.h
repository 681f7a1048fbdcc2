// Keeps the weights of a model while it has other ones.
#pragma once

#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/model.h"

namespace tenon::pipeline {

class KeptWeights {
 public:
  // Copies the tensors to the memory of the host: the device may have no room for a second model.
  explicit KeptWeights(const components::Model& model);

  // Puts the values back, bit for bit.
  void restore() const;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> tensors_;  // of the model, and its copy
};

}  // namespace tenon::pipeline
