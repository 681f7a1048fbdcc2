// Scoped automatic mixed precision.
#pragma once

#include <optional>

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "framework/config/plan/run_plan.h"

namespace tenon::precision {

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

}  // namespace tenon::precision
