// The leaf tensors of an autograd graph.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::components {

// Describes the first tensor where gradients of `output` accumulate and that is not one of `known`; "" if there is
// none. A weight that a model uses without registering it would silently be neither trained nor saved. Visits every
// node of the graph. Does not look into checkpointed segments.
std::string find_unregistered(const at::Tensor& output, const std::vector<at::Tensor>& known);

}  // namespace tenon::components
