// The histogram of a tensor's values.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/run_folder/histogram.h"

namespace tenon::pipeline {

inline constexpr int64_t kHistogramBins = 64;

// Bins have equal width between the smallest and the largest value; non-finite values are left out. Nothing for a
// tensor without finite values or with a dtype that is not floating point. Synchronises with the device.
std::optional<artifacts::Histogram> make_histogram(const at::Tensor& tensor);

}  // namespace tenon::pipeline
