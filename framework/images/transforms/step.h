// The operations on the pixels of one sample, with all random values already sampled. Steps are plain data. The same
// steps can therefore be applied to a second image or a mask, and steps can be merged before pixels are touched.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <opencv2/core.hpp>
#include <tenon/random.hpp>

#include "framework/images/resample/resample.h"

namespace images {

using Colour = std::array<float, 3>;  // red, green, blue; 0 to 255 for 8-bit pixels

// Returns "640 x 480", for messages.
inline std::string describe_size(cv::Size size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

// Geometry, which also applies to masks.

// Scales `source` to a new image of size `scaled`, and keeps `part` of it.
struct Resize {
  cv::Rect source;  // within the image
  cv::Size scaled;
  cv::Rect part;  // within `scaled`
  Interpolation interpolation;
  Antialias antialias;
};

struct Crop {
  cv::Rect window;                     // may extend beyond the image
  Colour fill;                         // colour outside the image
  bool drops_outside_centers = false;  // whether boxes with a centre outside the window are dropped
};

enum class Flip { horizontal, vertical };

// Maps each pixel of the new image to a position in the old one. Both are measured from the image's centre:
// x = m[0] * new_x + m[1] * new_y + m[2], y = m[3] * new_x + m[4] * new_y + m[5].
struct Warp {
  std::array<double, 6> matrix;
  cv::Size size;
  Interpolation interpolation;  // nearest or bilinear
  Colour fill;
};

// Maps each pixel of the new image to a position in the old one, both in pixels from the top left corner, so that the
// middle of the first pixel is (0.5, 0.5): x = (c[0] * new_x + c[1] * new_y + c[2]) / w, y = (c[3] * new_x + c[4] *
// new_y + c[5]) / w, w = c[6] * new_x + c[7] * new_y + 1.
struct Perspective {
  std::array<double, 8> coefficients;
  cv::Size size;
  Interpolation interpolation;  // nearest or bilinear
  Colour fill;
};

// Colours. Each new pixel depends on the same pixel, and at most on statistics of the image.

struct Brightness {
  double factor;
};
struct Contrast {
  double factor;
};
struct Saturation {
  double factor;
};
struct Hue {
  double shift;  // in turns, -0.5 to 0.5
};
struct Grayscale {};
struct Posterize {
  int bits;  // number of bits to keep, of 8
};
struct Solarize {
  double threshold;  // on the scale 0 to 255
};
struct AutoContrast {};
struct Equalize {};
struct Invert {};

struct NoiseTable;

// Adds normal noise to each channel of each pixel, truncated to whole levels.
struct Noise {
  std::shared_ptr<const NoiseTable> table;
  tenon::Random random;
};

// Operations on neighbourhoods.

struct Sharpness {
  double factor;
};
struct Blur {
  cv::Size kernel;  // odd
  double sigma;
};

// Contrast limited adaptive histogram equalization of the lightness, in tiles of the image.
struct Clahe {
  double clip_limit;  // largest count of a level in a tile, relative to the mean count
  cv::Size tiles;     // across and down
};

// Overwrites a rectangle with a colour, or with normal noise.
struct Erase {
  cv::Rect area;
  std::optional<Colour> colour;
  tenon::Random noise;
};

using Step = std::variant<Resize, Crop, Flip, Warp, Perspective, Brightness, Contrast, Saturation, Hue, Grayscale,
                          Posterize, Solarize, AutoContrast, Equalize, Invert, Noise, Sharpness, Blur, Clahe, Erase>;
using Steps = std::vector<Step>;

}  // namespace images
