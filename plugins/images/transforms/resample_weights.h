// How much each source pixel counts in each pixel of a scaled image, along one axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace images {

enum class Filter { triangle, cubic };

// The stretch [begin, end) of an axis of `length` pixels is scaled to `scaled` pixels, of which those from `part_begin`
// on, before `part_end`, are wanted.
struct Axis {
  int length;
  double begin;
  double end;
  int scaled;
  int part_begin;
  int part_end;
};

// Weights in fixed point, kOne for 1, and once more as pairs of 16-bit halves, as multiply-and-add instructions take
// them: weight = high * 2^kLowBits + low.
struct Weights {
  static constexpr int kBits = 22;
  static constexpr int kLowBits = 11;
  static constexpr int32_t kHalf = 1 << (kBits - 1);

  int taps = 0;                 // room for each output, even
  std::vector<int> first;       // by output: its first source pixel
  std::vector<int> count;       // by output: how many source pixels count, at most `taps`
  std::vector<int32_t> values;  // [outputs, taps], 0 from count on
  std::vector<int32_t> low;     // [outputs, taps / 2], the even tap in the lower 16 bits
  std::vector<int32_t> high;    // likewise

  size_t outputs() const { return first.size(); }
  int begin() const;  // of all source pixels that count
  int end() const;    // one past the last of them
};

// The filter is stretched by the factor of shrinking, its weights are scaled to a sum of 1 and rounded to fixed point:
// as in Pillow (https://pillow.readthedocs.io, Resample.c), to the bit. The filters: triangle (bilinear), and the cubic
// of R. Keys, "Cubic convolution interpolation for digital image processing", IEEE ASSP 29, 1981, with a = -0.5.
// REQUIRES: 0 <= part_begin < part_end <= scaled; begin < end, of which what the part needs lies within the axis.
void compute_weights(const Axis& axis, Filter filter, Weights& weights);

// The source pixels that the wanted part needs: first, and one past the last. Same requirements.
struct Stretch {
  int begin;
  int end;
};
Stretch needed_pixels(const Axis& axis, Filter filter);

}  // namespace images
