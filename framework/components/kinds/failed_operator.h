// Names the operator in which a model fails, and its tensors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/components/kinds/model.h"

namespace tenon::components {

// Calls `forward`, which failed before and has to throw again, and describes the operator that throws. Tensors of the
// model have their names: "aten::linear(float32 [16, 8], head.weight: float32 [2, 9], head.bias: float32 [2])". An
// operator without such a tensor also names the module before it: "aten::add(float32 [16, 8], float32 [16, 9]), after
// encoder.1". "" if no operator throws, for instance because the model itself does.
std::string find_failed_operator(const std::vector<NamedTensor>& model, const std::function<void()>& forward);

}  // namespace tenon::components
