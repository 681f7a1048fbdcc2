#include "framework/pipeline/device/make_histogram.h"

#include <torch/types.h>

#include <cmath>
#include <numeric>

#include "tests/doctest_with_torch.h"

using namespace tenon::pipeline;

TEST_CASE("a histogram counts every finite value in the bin between two limits") {
  at::manual_seed(3);
  const at::Tensor values = at::randn({100, 37});
  const auto histogram = make_histogram(values).value();
  REQUIRE(histogram.limits.size() == kHistogramBins);
  REQUIRE(histogram.counts.size() == kHistogramBins);
  CHECK(histogram.smallest == values.min().item<float>());
  CHECK(histogram.largest == values.max().item<float>());
  CHECK(histogram.limits.back() == histogram.largest);
  CHECK(histogram.sum == doctest::Approx(values.sum(at::kDouble).item<double>()));
  CHECK(histogram.sum_of_squares == doctest::Approx(values.to(at::kDouble).square().sum().item<double>()));
  CHECK(std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0) == 3700);
  double lower = histogram.smallest;
  double differing = 0;  // within a float's rounding, a value may be on either side of a limit
  for (size_t i = 0; i < histogram.limits.size(); ++i) {
    const double upper = histogram.limits[i];
    const bool is_last = i + 1 == histogram.limits.size();
    const at::Tensor inside = values.ge(lower).logical_and(is_last ? values.le(upper) : values.lt(upper));
    differing += std::abs(inside.sum().item<double>() - histogram.counts[i]);
    lower = upper;
  }
  CHECK(differing <= 4);
}

TEST_CASE("equal values are one bin, and non-finite values are left out") {
  const auto histogram = make_histogram(at::tensor({2.5F, NAN, 2.5F, INFINITY, 2.5F})).value();
  CHECK(histogram.limits == std::vector<double>{2.5});
  CHECK(histogram.counts == std::vector<double>{3});
  CHECK(histogram.sum == 7.5);
  CHECK_FALSE(make_histogram(at::tensor({NAN, INFINITY})));
  CHECK_FALSE(make_histogram(at::empty({0})));
  CHECK_FALSE(make_histogram(at::tensor({1, 2})));
}

TEST_CASE("reduced-precision tensors have the histogram of their values") {
  const at::Tensor values = at::tensor({-1.0F, 0.5F, 0.25F}).to(at::kBFloat16);
  const auto histogram = make_histogram(values).value();
  CHECK(histogram.smallest == -1);
  CHECK(histogram.largest == 0.5);
  CHECK(histogram.counts.front() == 1);
  CHECK(histogram.counts.back() == 1);
}
