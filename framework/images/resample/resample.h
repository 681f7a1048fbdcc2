// Scales 8-bit RGB images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

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

// Rows of RGB pixels, `stride` bytes apart.
struct SourceRows {
  const uint8_t* data;
  size_t stride;
  int width;  // pixels
  int height;
};

// `stride` leaves kRowMargin bytes after a row's last pixel. A pass may write into them.
struct WrittenRows {
  static constexpr size_t kRowMargin = 32;
  uint8_t* data;
  size_t stride;
};

// The two passes of a separable resize, which take most of the time of scaling. All implementations give the same
// bytes, because each sum is an exact integer and is rounded once.
struct ResamplePasses {
  // Converts each of source.height rows to weights.outputs() pixels.
  void (*horizontal)(const SourceRows& source, const Weights& weights, const WrittenRows& written);
  // Writes weights.outputs() rows of source.width pixels. Source row 0 is row `first_row` of the weights' axis. Reads
  // up to kRowMargin bytes beyond the end of a source row.
  void (*vertical)(const SourceRows& source, int first_row, const Weights& weights, const WrittenRows& written);
};

extern const ResamplePasses kPortablePasses;

// Returns null if the compiler or this machine lacks AVX2.
const ResamplePasses* avx2_passes();

// Returns the fastest implementation on this machine.
const ResamplePasses& best_passes();

// Scales 8-bit RGB images.
enum class Interpolation { nearest, bilinear, bicubic };
enum class Antialias { no, yes };

// Buffers that a thread reuses for every image.
struct ResampleBuffers {
  Weights across;
  Weights down;
  std::vector<uint8_t> rows;
  std::vector<uint8_t> mixed;
  cv::Mat scaled;
};

// Scales `box` of the source, in source pixels, to `scaled`, and computes only `part` of the result. Source pixels
// outside the box contribute at the edges of the box. To avoid that, pass a view of the source.
struct ResizeArea {
  cv::Rect2d box;
  cv::Size scaled;
  cv::Rect part;
};

// source: 8-bit RGB; target: allocated with the size of `part`. With antialiasing the result follows Pillow's resize
// with a box, and is identical for bilinear and bicubic. Without antialiasing it follows OpenCV's resize, with the box
// rounded to whole pixels. nearest selects the source pixel that contains the target pixel's centre, like Pillow and
// torchvision's nearest-exact.
// REQUIRES: the pixels of the box that the part needs lie within the source; part is within scaled and not empty;
// target does not share the source's memory.
void resize(const cv::Mat& source, const ResizeArea& area, Interpolation interpolation, Antialias antialias,
            ResampleBuffers& buffers, cv::Mat& target, const ResamplePasses& passes = best_passes());

// Resizes with nearest for pixels of any type, for masks.
void resize_nearest(const cv::Mat& source, const ResizeArea& area, cv::Mat& target);

// Returns the window of the source that `area` needs.
cv::Rect needed_window(cv::Size source, const ResizeArea& area, Interpolation interpolation);

}  // namespace images
