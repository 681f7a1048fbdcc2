// LibTorch's random state.
#pragma once

#include <ATen/Context.h>

namespace tenon::pipeline {

// The state of the device's default generator, as torch.get_rng_state and torch.set_rng_state.
inline at::Tensor get_rng_state(const c10::Device& device) {
  return at::globalContext().defaultGenerator(device).get_state();
}
inline void set_rng_state(const c10::Device& device, const at::Tensor& state) {
  at::Generator(at::globalContext().defaultGenerator(device)).set_state(state);
}

// Restores the state of the device's default generator when destroyed.
class KeepRandomState {
 public:
  explicit KeepRandomState(const c10::Device& device) : device_(device), state_(get_rng_state(device)) {}
  ~KeepRandomState() { set_rng_state(device_, state_); }
  KeepRandomState(const KeepRandomState&) = delete;
  KeepRandomState& operator=(const KeepRandomState&) = delete;

 private:
  c10::Device device_;
  at::Tensor state_;
};

}  // namespace tenon::pipeline
