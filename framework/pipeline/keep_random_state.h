// Leaves LibTorch's random numbers as they were.
#pragma once

#include <ATen/Context.h>

namespace tenon::pipeline {

// What is drawn while it lives, nobody lacks later.
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
