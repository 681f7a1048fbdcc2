#include "plugins/images/resample/resample_passes.h"

#include <algorithm>
#include <vector>

namespace images {
namespace {

uint8_t to_pixel(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> Weights::kBits, 0, 255)); }

void scale_row(const uint8_t* row, const Weights& weights, uint8_t* written) {
  for (size_t output = 0; output < weights.outputs(); ++output) {
    const int32_t* values = weights.values.data() + output * static_cast<size_t>(weights.taps);
    const uint8_t* pixel = row + 3 * static_cast<size_t>(weights.first[output]);
    int32_t sums[3] = {Weights::kHalf, Weights::kHalf, Weights::kHalf};
    for (int tap = 0; tap < weights.count[output]; ++tap, pixel += 3) {
      for (int channel = 0; channel < 3; ++channel) sums[channel] += pixel[channel] * values[tap];
    }
    for (int channel = 0; channel < 3; ++channel) written[3 * output + channel] = to_pixel(sums[channel]);
  }
}

void scale_horizontally(const SourceRows& source, const Weights& weights, const WrittenRows& written) {
  for (int y = 0; y < source.height; ++y) {
    const auto row = static_cast<size_t>(y);
    scale_row(source.data + row * source.stride, weights, written.data + row * written.stride);
  }
}

void scale_vertically(const SourceRows& source, int first_row, const Weights& weights, const WrittenRows& written) {
  const size_t bytes = 3 * static_cast<size_t>(source.width);
  std::vector<int32_t> sums(bytes);
  for (size_t output = 0; output < weights.outputs(); ++output) {
    std::fill(sums.begin(), sums.end(), Weights::kHalf);
    const uint8_t* row = source.data + static_cast<size_t>(weights.first[output] - first_row) * source.stride;
    for (int tap = 0; tap < weights.count[output]; ++tap, row += source.stride) {
      const int32_t weight = weights.values[output * static_cast<size_t>(weights.taps) + static_cast<size_t>(tap)];
      for (size_t i = 0; i < bytes; ++i) sums[i] += row[i] * weight;
    }
    std::transform(sums.begin(), sums.end(), written.data + output * written.stride, to_pixel);
  }
}

}  // namespace

const ResamplePasses kPortablePasses = {&scale_horizontally, &scale_vertically};

const ResamplePasses& best_passes() {
  static const ResamplePasses& best = avx2_passes() ? *avx2_passes() : kPortablePasses;
  return best;
}

}  // namespace images
