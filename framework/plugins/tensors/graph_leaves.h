// The leaf tensors of an autograd graph.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::plugins {

// Returns the tensors where the gradients of `output` accumulate. Visits every node. Not those within checkpointed
// segments.
std::vector<at::Tensor> find_graph_leaves(const at::Tensor& output);

// Describes the first leaf of `output` that is not one of `known`; "" if there is none. A weight that a model uses
// without registering it would silently be neither trained nor saved.
std::string find_unregistered(const at::Tensor& output, const std::vector<at::Tensor>& known);

}  // namespace tenon::plugins
