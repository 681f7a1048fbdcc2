// Checks before training that a checkpoint can store what a model registered.
#pragma once

#include <string>
#include <vector>

#include "framework/components/kinds/model.h"

namespace tenon::pipeline {

// Throws Error(plugin) for the first tensor with a name, dtype or layout that safetensors files cannot store. `owner`
// starts the message: the component and its location in the run file.
void check_storable(const std::vector<components::NamedTensor>& tensors, const std::string& owner);

}  // namespace tenon::pipeline
