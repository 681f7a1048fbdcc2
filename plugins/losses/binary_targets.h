// Targets that are 0, 1, or a probability in between.
#pragma once

#include "plugins/losses/mean_loss.h"

namespace tenon::losses {

constexpr uint64_t kBinaryTargets = TENON_ANY_FLOAT | TENON_DTYPE_BIT(TENON_INT64);

// Checks targets on the CPU only, because on a device the check would synchronise in every step. NaN passes; it shows
// in the loss.
inline void require_binary(const Tensor& target) {
  if (target.numel() == 0 || detail::info_of(target.handle()).device_type != TENON_DEVICE_CPU) return;
  const Tensor numbers = to_dtype(detach(flatten(target)), TENON_FLOAT64);
  for (const double found : {amin(numbers, {0}).number(), amax(numbers, {0}).number()}) {
    if (found < 0 || found > 1) {
      throw DataError("a target is " + detail::number_text(found) + "; expected a number in [0, 1]");
    }
  }
}

}  // namespace tenon::losses
