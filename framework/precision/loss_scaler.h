// The dynamic loss scale of fp16: Micikevicius et al., "Mixed precision training", arXiv:1710.03740, the same as
// torch.amp.GradScaler.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::precision {

// float16 gradients below 6e-8 become zero, so the loss is multiplied before backward and the gradients are divided
// after it. The scale is halved when gradients overflow, and doubled after 2,000 consecutive steps without overflow. It
// is stored on the device; no function here synchronises with it.
class LossScaler {
 public:
  explicit LossScaler(const c10::Device& device);

  at::Tensor scale(const at::Tensor& loss) const;
  const at::Tensor& factor() const { return scale_; }  // [] float32
  at::Tensor inverse() const;                          // [] float32

  // Call it after every step. overflowed: [] float32, not 0 if a gradient of the step is not finite.
  void update(const at::Tensor& overflowed);

  // `scale` [] float32 and `growth_tracker` [] int32, the number of steps since the last change. Returns the tensors
  // themselves.
  std::vector<std::pair<std::string, at::Tensor>> state() const;

 private:
  at::Tensor scale_;
  at::Tensor growth_tracker_;
};

}  // namespace tenon::precision
