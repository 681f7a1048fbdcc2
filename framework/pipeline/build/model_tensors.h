// The trainable tensors of a model, for callbacks.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/calls/trained_tensors.h"
#include "framework/components/kinds/model.h"
#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

// The trainable tensors in the order of their declaration. A tensor with several names is listed under the first one.
class ModelTensors final : public components::TrainedTensors {
 public:
  explicit ModelTensors(const components::Model& model);

  size_t size() const override { return tensors_.size(); }
  const std::string& name(size_t index) const override { return tensors_[index].name; }
  tenon_tensor* value(size_t index) const override;
  tenon_tensor* gradient(size_t index) const override;

 private:
  std::vector<optimization::NamedTensor> tensors_;
};

}  // namespace tenon::pipeline
