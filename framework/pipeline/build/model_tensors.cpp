#include "framework/pipeline/build/model_tensors.h"

#include <torch/types.h>

#include <algorithm>

#include "framework/plugins/tensors/tensor_handles.h"

namespace tenon::pipeline {

ModelTensors::ModelTensors(const plugins::Model& model) {
  for (const plugins::NamedTensor& named : model.tensors()) {
    const bool is_taken =
        std::ranges::any_of(tensors_, [&](const auto& taken) { return taken.tensor.is_same(named.tensor); });
    if (named.trainable && !is_taken) tensors_.push_back(named);
  }
}

tenon_tensor* ModelTensors::value(size_t index) const { return plugins::to_handle(tensors_[index].tensor); }

tenon_tensor* ModelTensors::gradient(size_t index) const { return plugins::to_handle(tensors_[index].tensor.grad()); }

}  // namespace tenon::pipeline
