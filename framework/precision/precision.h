// The precision of a run: what devices support, autocast, and the loss scale.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "framework/config/plan/run_plan.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::precision {

// Throws Error(configuration) at `place` if the device does not support the precision, naming the supported ones.
void require_supported(config::Precision precision, const support::ComputeDevice& device, const std::string& place);

// Sets process-wide whether float32 matrix products and convolutions on CUDA devices use TensorFloat-32. PyTorch
// enables it for convolutions by default; here "fp32" always means float32.
void set_tensor_float_32(config::Precision precision);

// The dtype that autocast uses for its lower-precision operators; nothing if the precision does not use autocast.
std::optional<c10::ScalarType> autocast_dtype(config::Precision precision);

// During its lifetime, this thread's operators on `device` run as under torch.autocast: those on LibTorch's lists in
// the precision's dtype, the others in float32 or in the dtype of their inputs. Cast weights that require grad are
// cached until the end of the scope, so each is cast once. Does nothing if the precision does not use autocast.
class Autocast {
 public:
  Autocast(config::Precision precision, c10::DeviceType device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool is_on_;
  bool was_enabled_ = false;
  c10::ScalarType dtype_before_ = c10::ScalarType::Float;
};

// The dynamic loss scale of fp16: Micikevicius et al., "Mixed precision training", arXiv:1710.03740, the same as
// torch.amp.GradScaler.
//
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
