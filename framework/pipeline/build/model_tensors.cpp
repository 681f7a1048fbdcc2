#include "framework/pipeline/build/model_tensors.h"

#include <torch/types.h>

#include "framework/pipeline/state/divided_weights.h"
#include "framework/plugins/tensors/tensor_handles.h"

namespace tenon::pipeline {

ModelTensors::ModelTensors(const plugins::Model& model) : tensors_(list_tensors(model, /*only_trainable=*/true)) {}

tenon_tensor* ModelTensors::value(size_t index) const { return plugins::to_handle(tensors_[index].tensor); }

tenon_tensor* ModelTensors::gradient(size_t index) const { return plugins::to_handle(tensors_[index].tensor.grad()); }

}  // namespace tenon::pipeline
