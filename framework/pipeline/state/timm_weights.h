// Finds weights of timm that fit a bundled model, which would compute something else with them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::pipeline {

// The name of timm's model by the `architecture` in a config.json in the folder of the weights, as from Hugging Face.
// Otherwise by the name of the file, or of its folders if the file has a general name, such as model.safetensors. Lower
// case; empty if unknown.
std::string find_timm_model(const std::filesystem::path& weights);

// Tensors of several models of timm have the same names and shapes, though the models differ in the padding, in a
// constant of batch normalisation, or in layers without tensors. Throws Error(checkpoint) with what to write if the
// name of the weights says that the model of the plan computes something else. Returns a warning if nothing shows which
// model they are of; else "".
std::string check_timm_weights(const config::ComponentPlan& model, const std::filesystem::path& weights,
                               const std::vector<artifacts::TensorView>& tensors);

}  // namespace tenon::pipeline
