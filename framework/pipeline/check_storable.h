// Whether a checkpoint can hold what a model registered: asked before training, not when hours of it are to be saved.
#pragma once

#include <string>
#include <vector>

#include "framework/plugins/model.h"

namespace tenon::pipeline {

// Throws Error(plugin) for the first tensor whose name, dtype or layout safetensors files have no room for. `owner`
// begins the message: the component and its place in the run file.
void check_storable(const std::vector<plugins::NamedTensor>& tensors, const std::string& owner);

}  // namespace tenon::pipeline
