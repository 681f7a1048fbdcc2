// Automatic mixed precision of what runs in a scope.
#pragma once

#include <optional>

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "framework/config/run_plan.h"

namespace tenon::precision {

// What autocast lowers the operators on its lists to; none where the precision has no autocast.
std::optional<c10::ScalarType> autocast_dtype(config::Precision precision);

// While it lives, operators of this thread on `device` run as under torch.autocast: those on LibTorch's lists in the
// precision's dtype, the others in float32 or as their inputs are. The weights that were cast are kept until its end,
// where a tensor that requires gradients would otherwise be cast anew for every use. Nothing where the precision has no
// autocast.
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
