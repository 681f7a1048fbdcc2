// How the values of a tensor are spread.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/histogram.h"

namespace tenon::pipeline {

inline constexpr int64_t kHistogramBins = 64;

// Over bins of one width from the smallest to the largest value; what is not finite is left out. None of a tensor
// without finite values, or of numbers that are not floating-point. Waits for the device.
std::optional<artifacts::Histogram> make_histogram(const at::Tensor& tensor);

}  // namespace tenon::pipeline
