// Converts published weights for images of another size or number of channels, as timm does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/model.h"

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

}  // namespace tenon::pipeline
