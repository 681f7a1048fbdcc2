// The model's modules, parameters and buffers.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/calls/run_view.h"
#include "framework/components/kinds/model.h"
#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

// Parameters and buffers by module (the name up to its last dot): shapes, counts, and totals with the memory size. For
// models with more than `max_rows` modules, shorter name prefixes are used. The shapes are left out if a line would
// have more than `max_width` columns (0: no limit), and long names of modules begin with dots.
std::string summarize_model(const components::Model& model, size_t max_width = 0, size_t max_rows = 24);

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
