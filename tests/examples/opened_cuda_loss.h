// Opens the loss of examples/cuda_loss like the host does.
#pragma once

#include <filesystem>

#include "framework/components/kinds/loss.h"

namespace tenon::examples {

// The file of the plugin. It does not exist in a build without nvcc.
std::filesystem::path cuda_loss_file();

// REQUIRES: the file exists.
components::Loss open_cuda_loss(int64_t ignore_index = -100);

// The results of the loss for logits [N, C] and their classes.
struct ComputedLoss {
  at::Tensor loss;
  at::Tensor weight;
  at::Tensor gradient;  // with respect to the logits
};
ComputedLoss compute(const components::Loss& loss, const at::Tensor& logits, const at::Tensor& target);

}  // namespace tenon::examples
