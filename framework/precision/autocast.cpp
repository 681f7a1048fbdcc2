#include "framework/precision/autocast.h"

#include <ATen/autocast_mode.h>

namespace tenon::precision {

std::optional<c10::ScalarType> autocast_dtype(config::Precision precision) {
  if (precision == config::Precision::bf16) return c10::ScalarType::BFloat16;
  if (precision == config::Precision::fp16) return c10::ScalarType::Half;
  return std::nullopt;
}

Autocast::Autocast(config::Precision precision, c10::DeviceType device) : device_(device) {
  const auto dtype = autocast_dtype(precision);
  is_on_ = dtype.has_value();
  if (!is_on_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  dtype_before_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, *dtype);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!is_on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, dtype_before_);
}

}  // namespace tenon::precision
