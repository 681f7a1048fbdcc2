#include "framework/pipeline/build/model_tensors.h"

#include <torch/types.h>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/state/divided_weights.h"

namespace tenon::pipeline {

ModelTensors::ModelTensors(const components::Model& model) : tensors_(list_tensors(model, /*only_trainable=*/true)) {}

tenon_tensor* ModelTensors::value(size_t index) const { return components::to_handle(tensors_[index].tensor); }

tenon_tensor* ModelTensors::gradient(size_t index) const {
  return components::to_handle(tensors_[index].tensor.grad());
}

}  // namespace tenon::pipeline
