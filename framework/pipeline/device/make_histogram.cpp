#include "framework/pipeline/device/make_histogram.h"

#include <torch/types.h>

namespace tenon::pipeline {

namespace {

// [bins]. LibTorch's histc has no deterministic implementation on CUDA. bincount has one, and this formula is that of
// histc.
at::Tensor count_in_bins(const at::Tensor& values, double smallest, double largest) {
  if (values.is_cpu() || !at::globalContext().deterministicAlgorithms())
    return at::histc(values, kHistogramBins, smallest, largest);
  const at::Tensor bins = ((values - smallest) * kHistogramBins / (largest - smallest)).to(at::kLong);
  return at::bincount(bins.clamp(0, kHistogramBins - 1), {}, kHistogramBins);
}

}  // namespace

std::optional<artifacts::Histogram> make_histogram(const at::Tensor& tensor) {
  if (!at::isFloatingType(tensor.scalar_type())) return std::nullopt;
  const at::NoGradGuard no_grad;
  at::Tensor values = tensor.detach().reshape({-1});
  if (at::isReducedFloatingType(values.scalar_type())) values = values.to(at::kFloat);
  values = values.masked_select(values.isfinite());
  if (values.numel() == 0) return std::nullopt;
  // The sums are in double, which is precise enough for any number of elements.
  const at::Tensor statistics = at::stack({values.min().to(at::kDouble), values.max().to(at::kDouble),
                                           values.sum(at::kDouble), values.square().sum(at::kDouble)})
                                    .cpu();
  const double* const numbers = statistics.const_data_ptr<double>();
  artifacts::Histogram histogram{numbers[0], numbers[1], numbers[2], numbers[3], {}, {}};
  if (histogram.smallest == histogram.largest) {
    histogram.limits = {histogram.largest};
    histogram.counts = {static_cast<double>(values.numel())};
    return histogram;
  }
  const at::Tensor counts = count_in_bins(values, histogram.smallest, histogram.largest).to(at::kCPU, at::kDouble);
  const double width = (histogram.largest - histogram.smallest) / kHistogramBins;
  for (int64_t i = 0; i < kHistogramBins; ++i) {
    const bool is_last = i + 1 == kHistogramBins;
    histogram.limits.push_back(is_last ? histogram.largest : histogram.smallest + width * static_cast<double>(i + 1));
    histogram.counts.push_back(counts[i].item<double>());
  }
  return histogram;
}

}  // namespace tenon::pipeline
