// The dynamic loss scale of fp16: Micikevicius et al., "Mixed precision training", arXiv:1710.03740, as
// torch.amp.GradScaler.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::precision {

// Gradients of float16 below 6e-8 are zero, so the loss is multiplied before backward and the gradients divided after
// it. The scale is halved where they overflow, and doubled after 2,000 steps in a row without. It lives on the device:
// nothing here waits for it.
class LossScaler {
 public:
  explicit LossScaler(const c10::Device& device);

  at::Tensor scale(const at::Tensor& loss) const;
  const at::Tensor& factor() const { return scale_; }  // [] float32
  at::Tensor inverse() const;                          // [] float32

  // After every step. overflowed: [] float32, not 0 where a gradient of the step is not finite.
  void update(const at::Tensor& overflowed);

  // `scale` [] float32 and `growth_tracker` [] int32, the steps since the last change: the tensors themselves.
  std::vector<std::pair<std::string, at::Tensor>> state() const;

 private:
  at::Tensor scale_;
  at::Tensor growth_tracker_;
};

}  // namespace tenon::precision
