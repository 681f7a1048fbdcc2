#include "plugins/datasets/image_folder/crop_window.h"

#include <algorithm>
#include <cmath>

namespace image_folder {
namespace {

constexpr double kSmallestArea = 0.08;
constexpr double kLargestArea = 1.0;
constexpr double kNarrowest = 3.0 / 4.0;  // width / height
constexpr double kWidest = 4.0 / 3.0;

int round_length(double length, int most) { return std::clamp(static_cast<int>(std::lround(length)), 1, most); }

cv::Rect center_window(cv::Size image, cv::Size window) {
  return {(image.width - window.width) / 2, (image.height - window.height) / 2, window.width, window.height};
}

cv::Rect random_window(cv::Size image, cv::Size window, tenon::Random& random) {
  const int x = static_cast<int>(random.integer(image.width - window.width + 1));
  const int y = static_cast<int>(random.integer(image.height - window.height + 1));
  return {x, y, window.width, window.height};
}

cv::Rect random_resized_window(cv::Size image, tenon::Random& random) {
  const double area = static_cast<double>(image.width) * image.height;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(kSmallestArea, kLargestArea);
    const double ratio = std::exp(random.uniform(std::log(kNarrowest), std::log(kWidest)));
    const double width = std::round(std::sqrt(target * ratio));
    const double height = std::round(std::sqrt(target / ratio));
    if (width < 1 || height < 1 || width > image.width || height > image.height) continue;
    return random_window(image, {static_cast<int>(width), static_cast<int>(height)}, random);
  }
  cv::Size window = image;
  const double ratio = static_cast<double>(image.width) / image.height;
  if (ratio < kNarrowest) window.height = round_length(image.width / kNarrowest, image.height);
  if (ratio > kWidest) window.width = round_length(image.height * kWidest, image.width);
  return center_window(image, window);
}

}  // namespace

cv::Rect choose_window(cv::Size image, const CropOptions& options, tenon::Random& random) {
  if (options.crop == Crop::random_resized) return random_resized_window(image, random);
  const int shorter = std::min(image.width, image.height);
  const double part = static_cast<double>(options.image_size) / static_cast<double>(options.resize);
  const int side = round_length(shorter * part, shorter);
  if (options.crop == Crop::center) return center_window(image, {side, side});
  return random_window(image, {side, side}, random);
}

}  // namespace image_folder
