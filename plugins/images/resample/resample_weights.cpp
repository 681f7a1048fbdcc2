#include "plugins/images/resample/resample_weights.h"

#include <algorithm>
#include <cmath>

namespace images {
namespace {

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// The source pixels under the filter for each output.
class FilterSupport {
 public:
  FilterSupport(const Axis& axis, Filter filter)
      : axis_(axis),
        scale_((axis.end - axis.begin) / axis.scaled),
        stretch_(std::max(scale_, 1.0)),
        support_((filter == Filter::triangle ? 1.0 : 2.0) * stretch_) {}

  double center(int output) const { return axis_.begin + (output + 0.5) * scale_; }
  double stretch() const { return stretch_; }
  int max_taps() const { return static_cast<int>(std::ceil(support_)) * 2 + 1; }
  // Pillow truncates the sums toward 0 in this way; negative ones are clamped.
  // NOLINTBEGIN(bugprone-incorrect-roundings)
  int begin(int output) const { return std::max(static_cast<int>(center(output) - support_ + 0.5), 0); }
  int end(int output) const { return std::min(static_cast<int>(center(output) + support_ + 0.5), axis_.length); }
  // NOLINTEND(bugprone-incorrect-roundings)

 private:
  const Axis& axis_;
  double scale_;
  double stretch_;
  double support_;
};

int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << Weights::kBits);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

bool is_not_zero(int32_t value) { return value != 0; }

int32_t pack_pair(int32_t even, int32_t odd) {
  return static_cast<int32_t>((static_cast<uint32_t>(odd) << 16) | (static_cast<uint32_t>(even) & 0xFFFFu));
}

void split_into_pairs(Weights& weights) {
  constexpr int32_t kLowMask = (1 << Weights::kLowBits) - 1;
  weights.low.resize(weights.values.size() / 2);
  weights.high.resize(weights.values.size() / 2);
  for (size_t pair = 0; pair < weights.low.size(); ++pair) {
    const int32_t even = weights.values[2 * pair];
    const int32_t odd = weights.values[2 * pair + 1];
    weights.low[pair] = pack_pair(even & kLowMask, odd & kLowMask);
    weights.high[pair] = pack_pair(even >> Weights::kLowBits, odd >> Weights::kLowBits);
  }
}

}  // namespace

int Weights::begin() const { return *std::min_element(first.begin(), first.end()); }

int Weights::end() const {
  int end = 0;
  for (size_t output = 0; output < outputs(); ++output) end = std::max(end, first[output] + count[output]);
  return end;
}

void compute_weights(const Axis& axis, Filter filter, Weights& weights) {
  const FilterSupport reach(axis, filter);
  const auto outputs = static_cast<size_t>(axis.part_end - axis.part_begin);
  weights.taps = (reach.max_taps() + 1) / 2 * 2;
  weights.first.resize(outputs);
  weights.count.resize(outputs);
  weights.values.assign(outputs * static_cast<size_t>(weights.taps), 0);
  std::vector<double> raw(static_cast<size_t>(weights.taps));
  for (size_t output = 0; output < outputs; ++output) {
    const int place = axis.part_begin + static_cast<int>(output);
    const double center = reach.center(place);
    const int first = reach.begin(place);
    const int count = reach.end(place) - first;
    double sum = 0;
    for (int tap = 0; tap < count; ++tap) {
      const double x = (tap + first - center + 0.5) * (1.0 / reach.stretch());
      const double weight = filter == Filter::triangle ? triangle(x) : cubic(x);
      raw[static_cast<size_t>(tap)] = weight;
      sum += weight;
    }
    int32_t* values = weights.values.data() + output * static_cast<size_t>(weights.taps);
    for (int tap = 0; tap < count; ++tap) values[tap] = to_fixed(raw[static_cast<size_t>(tap)] / sum);
    // Taps of weight 0 at either end are common, and cost as much as other taps.
    const int zeros = static_cast<int>(std::find_if(values, values + count - 1, is_not_zero) - values);
    std::copy(values + zeros, values + count, values);
    std::fill(values + count - zeros, values + count, 0);
    weights.first[output] = first + zeros;
    weights.count[output] = count - zeros;
    while (weights.count[output] > 1 && values[weights.count[output] - 1] == 0) --weights.count[output];
  }
  split_into_pairs(weights);
}

PixelRange needed_pixels(const Axis& axis, Filter filter) {
  const FilterSupport reach(axis, filter);
  return {reach.begin(axis.part_begin), reach.end(axis.part_end - 1)};
}

}  // namespace images
