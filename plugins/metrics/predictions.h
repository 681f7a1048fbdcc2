// What metrics of predicted classes share: scores that are no numbers, and targets that are no classes, must not pass
// for wrong predictions. Both are counted on the device, and looked at when the figures are computed.
#pragma once

#include <tenon/plugin.hpp>

#include <limits>

namespace tenon::metrics {

constexpr uint64_t kInt64 = TENON_DTYPE_BIT(TENON_INT64);
constexpr uint64_t kBinaryTargets = TENON_ANY_FLOAT | kInt64;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

inline double share(double part, double whole) { return whole > 0 ? part / whole : kNone; }

// How many of the counted places have a NaN among their scores along `dim`, the largest of which NaN then is.
inline Tensor count_undefined(const Tensor& scores, int64_t dim, const Tensor& counted) {
  const Tensor largest = amax(scores, {dim});
  return sum(logical_and(ne(largest, largest), counted));
}

inline Tensor count_outside(const Tensor& target, const Argument& least, const Argument& greatest,
                            const Tensor& counted) {
  return sum(logical_and(logical_or(lt(target, least), gt(target, greatest)), counted));
}

// Throws DataError if targets were outside of what `expected` says.
inline void refuse_outside(const Tensor& count, const std::string& expected) {
  if (count.number() == 0) return;
  throw DataError("targets outside of what there is: " + std::to_string(static_cast<int64_t>(count.number())) +
                  "; expected " + expected);
}

inline std::string describe_classes(int64_t ignore_index) {
  return "classes of the logits, or ignore_index (" + std::to_string(ignore_index) + ")";
}

// The last dimension is that of the scores, [M, C], where `scores` is [N, C, ...].
inline Tensor to_rows(const Tensor& scores) {
  const std::vector<int64_t> shape = scores.shape();
  int64_t places = 1;
  for (size_t i = 2; i < shape.size(); ++i) places *= shape[i];
  const Tensor last = transpose(reshape(scores, {shape[0], shape[1], places}), 1, 2);
  return reshape(last, {shape[0] * places, shape[1]});
}

}  // namespace tenon::metrics
