// Converts published weights, as timm does: for images of another size or number of channels, and for other names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/components/kinds/model.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::pipeline {

struct AdaptedWeight {
  at::Tensor values;
  std::string what;  // for the log: "interpolated from 14 x 14 to 24 x 24 patches"
};

// Returns the values for a tensor of the model that has another shape than `stored`:
//
// - position embeddings [1, tokens, width] of a vision transformer with square grids of patches, interpolated as
//   timm.layers.resample_abs_pos_embed: bicubic, with antialiasing, in float32. Class tokens keep their values.
// - the convolution of RGB images for another number of channels, as timm.models.adapt_input_conv: the sum for one
//   channel, otherwise repeated and scaled.
//
// Nothing for any other difference. `model`: the tensors of the model, which show whether it divides images into
// patches.
std::optional<AdaptedWeight> adapt_weight(const components::NamedTensor& named, const at::Tensor& stored,
                                          const std::vector<components::NamedTensor>& model);

// Tensors of several models of timm have the same names and shapes, though the models differ in the padding, in a
// constant of batch normalisation, or in layers without tensors. Throws Error(checkpoint) with what to write if the
// name of the weights says that the model of the plan computes something else. Returns a warning if nothing shows which
// model they are of; else "".
std::string check_timm_weights(const config::ComponentPlan& model, const std::filesystem::path& weights,
                               const std::vector<artifacts::TensorView>& tensors);

}  // namespace tenon::pipeline
