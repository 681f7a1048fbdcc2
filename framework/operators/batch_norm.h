// LibTorch's operators batch_norm and relu_, replaced in this process for the CPU. Native models, models of portable
// operators and exported graphs all use them, so no plugin changes.
//
// In training, a batch of float or bfloat16 images in channels_last is normalised by the loops of channel_kernels.h. If
// relu_ follows, the backward of both is one node: it recomputes from the input where the output was positive, instead
// of a pass over the gradient for each. Outputs and gradients are those of LibTorch up to rounding, for any number of
// threads the same bits. Everything else is LibTorch's.
#pragma once

#include <unordered_set>

#include <ATen/core/Tensor.h>

namespace tenon::operators {

// The start of LibTorch's message about a batch norm that has one value per channel in training. The replaced operator
// throws c10::Error with the same text, also for models that do not use torch::nn.
inline constexpr const char* kOneValuePerChannel = "Expected more than 1 value per channel when training";

// What batch_norm does in training, on the CPU and on CUDA devices. Change it on the training thread, between two
// calls.
struct BatchNormHooks {
  // Replaces the computation with the statistics of the batch.
  at::Tensor (*normalise)(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                          const at::Tensor& running_mean, const at::Tensor& running_variance, double momentum,
                          double epsilon) = nullptr;
  // Layers with a running mean at one of these addresses compute as in evaluation.
  std::unordered_set<const void*> frozen = {};
};
BatchNormHooks& batch_norm_hooks();

}  // namespace tenon::operators
