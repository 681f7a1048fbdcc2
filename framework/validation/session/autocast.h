// A scope with LibTorch's mixed precision on the CPU.
#pragma once

#include <ATen/autocast_mode.h>

namespace tenon::validation {

class Bfloat16Autocast {
 public:
  Bfloat16Autocast() {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::increment_nesting();
  }
  Bfloat16Autocast(const Bfloat16Autocast&) = delete;
  Bfloat16Autocast& operator=(const Bfloat16Autocast&) = delete;
  ~Bfloat16Autocast() {
    at::autocast::decrement_nesting();
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

}  // namespace tenon::validation
