// From 8-bit pixels to what a model takes.
#pragma once

#include <array>
#include <vector>

#include <opencv2/core.hpp>

namespace image_folder {

enum class Mirror { no, yes };

// (value / 255 - mean) / deviation for each channel, looked up.
class PixelPlanes {
 public:
  // Of red, green and blue, for values in [0, 1]. REQUIRES: three each, no deviation 0.
  PixelPlanes(const std::vector<double>& mean, const std::vector<double>& deviation);

  // bgr: [H, W] of 8-bit BGR; planes: [3, H, W], red first, mirrored left to right if asked.
  void write(const cv::Mat& bgr, Mirror mirror, float* planes) const;

 private:
  std::array<std::array<float, 256>, 3> tables_;  // by channel as in `planes`
};

}  // namespace image_folder
