// The weight of each source pixel in each pixel of a scaled image, along one axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace images {

enum class Filter { triangle, cubic };

// The interval [begin, end) of an axis of `length` pixels is scaled to `scaled` pixels. Only the pixels from
// `part_begin` to before `part_end` are computed.
struct Axis {
  int length;
  double begin;
  double end;
  int scaled;
  int part_begin;
  int part_end;
};

// Weights in fixed point, with kOne for 1. They are also stored as pairs of 16-bit halves for multiply-and-add
// instructions: weight = high * 2^kLowBits + low.
struct Weights {
  static constexpr int kBits = 22;
  static constexpr int kLowBits = 11;
  static constexpr int32_t kHalf = 1 << (kBits - 1);

  int taps = 0;                 // capacity per output, even
  std::vector<int> first;       // per output: first source pixel
  std::vector<int> count;       // per output: number of source pixels, at most `taps`
  std::vector<int32_t> values;  // [outputs, taps], 0 from count on
  std::vector<int32_t> low;     // [outputs, taps / 2], with the even tap in the lower 16 bits
  std::vector<int32_t> high;    // likewise

  size_t outputs() const { return first.size(); }
  int begin() const;  // first source pixel with a weight
  int end() const;    // one past the last source pixel with a weight
};

// The filter is stretched by the shrinking factor. Its weights are normalised to a sum of 1 and rounded to fixed point.
// The result is bit-identical to Pillow's (https://pillow.readthedocs.io, Resample.c). The filters are triangle
// (bilinear), and the cubic filter of R. Keys, "Cubic convolution interpolation for digital image processing", IEEE
// ASSP 29, 1981, with a = -0.5.
// REQUIRES: 0 <= part_begin < part_end <= scaled; begin < end; the pixels of [begin, end) that the part needs lie
// within the axis.
void compute_weights(const Axis& axis, Filter filter, Weights& weights);

// The source pixels that the part needs: the first, and one past the last. The requirements are the same.
struct PixelRange {
  int begin;
  int end;
};
PixelRange needed_pixels(const Axis& axis, Filter filter);

}  // namespace images
