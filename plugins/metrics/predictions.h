// Shared code of metrics for predicted classes. Scores that are NaN and targets that are not classes must not count as
// wrong predictions. Both are counted on the device and checked when the metrics are computed.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <tenon/error.hpp>
#include <tenon/plugin.hpp>

namespace tenon::metrics {

constexpr uint64_t kInt64 = TENON_DTYPE_BIT(TENON_INT64);
constexpr uint64_t kBinaryTargets = TENON_ANY_FLOAT | kInt64;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

inline double share(double part, double whole) { return whole > 0 ? part / whole : kNone; }

// Whether scores of any precision are above a threshold, which is not rounded to that precision.
inline Tensor exceeds(const Tensor& scores, double threshold) { return gt(to_dtype(scores, TENON_FLOAT64), threshold); }

// The number of counted positions with a NaN among their scores along `dim`. The largest score is then NaN.
inline Tensor count_undefined(const Tensor& scores, int64_t dim, const Tensor& counted) {
  const Tensor largest = amax(scores, {dim});
  return sum(logical_and(ne(largest, largest), counted));
}

inline Tensor count_outside(const Tensor& target, const Argument& least, const Argument& greatest,
                            const Tensor& counted) {
  return sum(logical_and(logical_or(lt(target, least), gt(target, greatest)), counted));
}

// Throws DataError if there are invalid targets. `expected` describes valid targets.
inline void refuse_outside(const Tensor& count, const std::string& expected) {
  if (count.number() == 0) return;
  throw DataError("number of invalid targets: " + std::to_string(static_cast<int64_t>(count.number())) + "; expected " +
                  expected);
}

// The error for a target that is not a class.
inline DataError outside_classes(int64_t target, int64_t classes, int64_t ignore_index) {
  return DataError("a target is " + std::to_string(target) + "; expected a class from 0 to " +
                   std::to_string(classes - 1) + ", or ignore_index (" + std::to_string(ignore_index) + ")");
}

inline std::string describe_classes(int64_t ignore_index) {
  return "classes of the logits, or ignore_index (" + std::to_string(ignore_index) + ")";
}

// Moves the dimension of the scores to the end: [N, C, ...] to [M, C].
inline Tensor to_rows(const Tensor& scores) {
  const std::vector<int64_t> shape = scores.shape();
  int64_t places = 1;
  for (size_t i = 2; i < shape.size(); ++i) places *= shape[i];
  const Tensor last = transpose(reshape(scores, {shape[0], shape[1], places}), 1, 2);
  return reshape(last, {shape[0] * places, shape[1]});
}

}  // namespace tenon::metrics
