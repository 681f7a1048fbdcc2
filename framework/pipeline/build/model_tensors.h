// The trainable tensors of a model, for callbacks.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/optimization/optimizer.h"
#include "framework/plugins/calls/trained_tensors.h"
#include "framework/plugins/components/model.h"

namespace tenon::pipeline {

// The trainable tensors in the order of their declaration. A tensor with several names is listed under the first one.
class ModelTensors final : public plugins::TrainedTensors {
 public:
  explicit ModelTensors(const plugins::Model& model);

  size_t size() const override { return tensors_.size(); }
  const std::string& name(size_t index) const override { return tensors_[index].name; }
  tenon_tensor* value(size_t index) const override;
  tenon_tensor* gradient(size_t index) const override;

 private:
  std::vector<optimization::NamedTensor> tensors_;
};

}  // namespace tenon::pipeline
