#include "plugins/images/transforms/neighbourhood.h"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

namespace images {
namespace {

cv::Mat gaussian(int length, double sigma) {
  cv::Mat kernel(length, 1, CV_64F);
  double sum = 0;
  for (int i = 0; i < length; ++i) {
    const double x = i - (length - 1) / 2.0;
    kernel.at<double>(i) = std::exp(-x * x / (2 * sigma * sigma));
    sum += kernel.at<double>(i);
  }
  kernel /= sum;
  cv::Mat single;
  kernel.convertTo(single, CV_32F);
  return single;
}

}  // namespace

void blur(const cv::Mat& source, const Blur& step, cv::Mat& target) {
  cv::sepFilter2D(source, target, CV_8U, gaussian(step.kernel.width, step.sigma),
                  gaussian(step.kernel.height, step.sigma), {-1, -1}, 0, cv::BORDER_REFLECT_101 | cv::BORDER_ISOLATED);
}

void sharpen(const cv::Mat& source, const Sharpness& step, cv::Mat& target) {
  source.copyTo(target);
  const auto rest = static_cast<float>(1.0 - step.factor);
  for (int y = 1; y + 1 < source.rows; ++y) {
    const uint8_t* row = source.ptr<uint8_t>(y);
    uint8_t* written = target.ptr<uint8_t>(y);
    for (int i = 3; i + 3 < 3 * source.cols; ++i) {
      int sum = 4 * row[i];
      for (const uint8_t* near : {row - source.step, row, row + source.step}) {
        sum += near[i - 3] + near[i] + near[i + 3];
      }
      const auto pixel = static_cast<float>(row[i]);
      // No multiple of 1/13 lies halfway between two levels.
      const auto smooth = static_cast<float>((2 * sum + 13) / 26);
      written[i] = static_cast<uint8_t>(std::clamp(pixel + rest * (smooth - pixel), 0.0f, 255.0f));
    }
  }
}

}  // namespace images
