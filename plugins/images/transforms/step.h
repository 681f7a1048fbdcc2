// What is done to the pixels of one sample, with everything drawn: plain data, so that the same can be done to a second
// image or to a mask, and so that steps can be put together before pixels are touched.
#pragma once

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include <opencv2/core.hpp>
#include <tenon/random.hpp>

#include "plugins/images/transforms/resample.h"

namespace images {

using Colour = std::array<float, 3>;  // red, green, blue; 0 to 255 for 8-bit pixels

// Geometry: done to masks too.

// The part of a new image, `scaled` large, that `source` is scaled to.
struct Resize {
  cv::Rect source;  // within the image
  cv::Size scaled;
  cv::Rect part;  // within `scaled`
  Interpolation interpolation;
  Antialias antialias;
};

struct Crop {
  cv::Rect window;  // may reach beyond the image
  Colour fill;      // what is there
};

enum class Flip { horizontal, vertical };

// For each pixel of the new image the place in the old one. Both are measured from the image's centre:
// x = m[0] * new_x + m[1] * new_y + m[2], y = m[3] * new_x + m[4] * new_y + m[5].
struct Warp {
  std::array<double, 6> matrix;
  cv::Size size;
  Interpolation interpolation;  // nearest or bilinear
  Colour fill;
};

// Colours: each pixel becomes a function of itself, and of statistics of the image at most.

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
  int bits;  // that are kept of 8
};
struct Solarize {
  double threshold;  // of 255
};
struct AutoContrast {};
struct Equalize {};

// Neighbourhoods.

struct Sharpness {
  double factor;
};
struct Blur {
  cv::Size kernel;  // odd
  double sigma;
};

// A rectangle is overwritten: with a colour, or with normal noise.
struct Erase {
  cv::Rect area;
  std::optional<Colour> colour;
  tenon::Random noise;
};

using Step = std::variant<Resize, Crop, Flip, Warp, Brightness, Contrast, Saturation, Hue, Grayscale, Posterize,
                          Solarize, AutoContrast, Equalize, Sharpness, Blur, Erase>;
using Steps = std::vector<Step>;

}  // namespace images
