#include "plugins/datasets/image_folder/pixel_planes.h"

namespace image_folder {

PixelPlanes::PixelPlanes(const std::vector<double>& mean, const std::vector<double>& deviation) {
  for (size_t channel = 0; channel < tables_.size(); ++channel) {
    for (size_t value = 0; value < 256; ++value) {
      const double scaled = static_cast<double>(value) / 255.0;
      tables_[channel][value] = static_cast<float>((scaled - mean[channel]) / deviation[channel]);
    }
  }
}

void PixelPlanes::write(const cv::Mat& bgr, Mirror mirror, float* planes) const {
  const auto [red, green, blue] = std::array<const float*, 3>{tables_[0].data(), tables_[1].data(), tables_[2].data()};
  const size_t area = bgr.total();
  const std::ptrdiff_t step = mirror == Mirror::yes ? -3 : 3;
  for (int y = 0; y < bgr.rows; ++y) {
    const uchar* pixel = bgr.ptr<uchar>(y) + (mirror == Mirror::yes ? 3 * (bgr.cols - 1) : 0);
    float* out = planes + static_cast<size_t>(y) * static_cast<size_t>(bgr.cols);
    for (int x = 0; x < bgr.cols; ++x, ++out, pixel += step) {
      out[0] = red[pixel[2]];
      out[area] = green[pixel[1]];
      out[2 * area] = blue[pixel[0]];
    }
  }
}

}  // namespace image_folder
