// Tolerances for rounding errors in the results of a network, for any vector instructions, blocks and threads.
//
// Rounding has the effect of slightly different weights and inputs, which the network amplifies by some factor. The
// tests measure the factor on the current machine, and do not use the reference for it:
//  - The factor is the same in every precision, so the error in single precision shows the factor for double precision.
//  - For single precision it is the effect of a change of all weights and inputs by u, computed in double precision.
#pragma once

#include <algorithm>

#include <ATen/core/Tensor.h>

#include "tests/bundled/scattered_numbers.h"
#include "tests/doctest_with_torch.h"

namespace tenon::bundled {

constexpr double kSingleRoundoff = 0x1p-24;
constexpr double kDoubleRoundoff = 0x1p-53;

// The allowed difference of two results, relative to the measured one. It is the product of three factors: 2 because
// both sides round, 4 because both errors are random and a few deviations apart, and 8 because a loop over 64 terms
// rounds sqrt(64) times more than vectors of partial sums.
constexpr double kSpread = 2 * 4 * 8;

// For any factor, a test must detect an error of 1e-3 in one weight.
constexpr double kLargestDoubleTolerance = 1e-7;
constexpr double kLargestSingleTolerance = 2e-3;

// `single` is the relative difference between single and double precision.
inline double double_tolerance(double single) {
  const double tolerance = kSpread * std::max(single / kSingleRoundoff, 1.0) * kDoubleRoundoff;
  CHECK(tolerance < kLargestDoubleTolerance);
  return tolerance;
}

// `effect` is the relative effect of a change by kSingleRoundoff in double precision.
inline double single_tolerance(double effect) {
  const double tolerance = kSpread * std::max(effect, kSingleRoundoff);
  CHECK(tolerance < kLargestSingleTolerance);
  return tolerance;
}

// Returns a bound that is tight enough for small networks without batch statistics: a path of `operations` operations
// with sums of up to `terms` terms. Each term rounds once, at worst all in one direction (Higham, Accuracy and
// Stability of Numerical Algorithms, section 3.1), and both sides round.
constexpr double worst_rounding(double roundoff, int64_t operations, int64_t terms) {
  return 2 * static_cast<double>(operations * terms) * roundoff;
}

// Multiplies each number of a float64 tensor by 1 + kSingleRoundoff or 1 - kSingleRoundoff, pseudorandomly.
inline at::Tensor perturbed(const at::Tensor& values, int64_t salt) {
  constexpr int64_t kOtherSalts = 20011;  // not a salt of weights from scatter(), so that signs are independent
  return values + values * scatter(values.sizes(), kOtherSalts + salt).sign() * kSingleRoundoff;
}

}  // namespace tenon::bundled
