// Restores LibTorch's random state.
#pragma once

#include <ATen/Context.h>

namespace tenon::pipeline {

// Restores the state of the device's default generator when destroyed.
class KeepRandomState {
 public:
  explicit KeepRandomState(const c10::Device& device)
      : generator_(at::globalContext().defaultGenerator(device)), state_(generator_.get_state()) {}
  ~KeepRandomState() { generator_.set_state(state_); }
  KeepRandomState(const KeepRandomState&) = delete;
  KeepRandomState& operator=(const KeepRandomState&) = delete;

 private:
  at::Generator generator_;
  at::Tensor state_;
};

}  // namespace tenon::pipeline
