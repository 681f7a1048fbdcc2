// What rounding may do to the results of a network, whatever vector instructions, blocks and threads compute its sums.
//
// Rounding errors are those of slightly different weights and inputs, which the network amplifies by some factor. The
// tests measure the factor on the machine that they run on, and never compare with the reference for it:
//  - The factor is the same in every precision: single precision shows what it is in double precision.
//  - For single precision it is the effect of a change of all weights and inputs by u, computed in double precision.
#pragma once

#include <algorithm>

#include <ATen/core/Tensor.h>

#include "tests/bundled/scattered_numbers.h"
#include "tests/doctest_with_torch.h"

namespace tenon::bundled {

constexpr double kSingleRoundoff = 0x1p-24;
constexpr double kDoubleRoundoff = 0x1p-53;

// How far two results may be apart, in parts of the one that was measured: 2, for both sides round, times 4, for the
// measured one and the compared one are random and a few deviations apart, times 8: a loop over 64 terms rounds
// sqrt(64) times more than vectors of partial sums do.
constexpr double kSpread = 2 * 4 * 8;

// Whatever the factor is, a test must notice an error of 1e-3 in one weight.
constexpr double kLargestDoubleTolerance = 1e-7;
constexpr double kLargestSingleTolerance = 2e-3;

// `single`: how far single precision is from double precision, relative.
inline double double_tolerance(double single) {
  const double tolerance = kSpread * std::max(single / kSingleRoundoff, 1.0) * kDoubleRoundoff;
  CHECK(tolerance < kLargestDoubleTolerance);
  return tolerance;
}

// `effect`: what a change by kSingleRoundoff has in double precision, relative.
inline double single_tolerance(double effect) {
  const double tolerance = kSpread * std::max(effect, kSingleRoundoff);
  CHECK(tolerance < kLargestSingleTolerance);
  return tolerance;
}

// For small networks without batch statistics, where it is tight enough: a path of `operations` operations with sums of
// up to `terms` terms. Each term rounds once, at worst all in one direction (Higham, Accuracy and Stability of
// Numerical Algorithms, section 3.1), and both sides round.
constexpr double worst_rounding(double roundoff, int64_t operations, int64_t terms) {
  return 2 * static_cast<double>(operations * terms) * roundoff;
}

// Each number of a float64 tensor multiplied by 1 + kSingleRoundoff or 1 - kSingleRoundoff, without a pattern.
inline at::Tensor perturbed(const at::Tensor& values, int64_t salt) {
  constexpr int64_t kOtherSalts = 20011;  // the weights may be scatter() themselves, whose signs must not decide
  return values + values * scatter(values.sizes(), kOtherSalts + salt).sign() * kSingleRoundoff;
}

}  // namespace tenon::bundled
