#include "framework/images/transforms/apply_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace images {
namespace {

double radians(double degrees) { return degrees * (3.14159265358979323846 / 180.0); }

// Positions in the source, in pixels, along one row of the target.
struct RowPositions {
  RowPositions(const Warp& warp, cv::Size source, int y) : step_x(warp.matrix[0]), step_y(warp.matrix[3]) {
    const double new_x = -(warp.size.width - 1) * 0.5;
    const double new_y = y - (warp.size.height - 1) * 0.5;
    start_x = warp.matrix[0] * new_x + warp.matrix[1] * new_y + warp.matrix[2] + (source.width - 1) * 0.5;
    start_y = warp.matrix[3] * new_x + warp.matrix[4] * new_y + warp.matrix[5] + (source.height - 1) * 0.5;
  }
  double x(int column) const { return start_x + step_x * column; }
  double y(int column) const { return start_y + step_y * column; }

  double step_x;
  double step_y;
  double start_x;
  double start_y;
};

// The same for a Perspective.
struct PerspectiveRow {
  PerspectiveRow(const Perspective& warp, cv::Size, int y) : c(warp.coefficients), new_y(y + 0.5) {}
  double x(int column) const { return position(c[0], c[1], c[2], column); }
  double y(int column) const { return position(c[3], c[4], c[5], column); }

  // The index of the pixel, which may be a fraction. Without a position it is NaN, which is outside.
  double position(double across, double down, double start, int column) const {
    const double new_x = column + 0.5;
    const double w = c[6] * new_x + c[7] * new_y + 1;
    return (across * new_x + down * new_y + start) / w - 0.5;
  }

  const std::array<double, 8>& c;
  double new_y;
};

PerspectiveRow row_of(const Perspective& warp, cv::Size source, int y) { return {warp, source, y}; }
RowPositions row_of(const Warp& warp, cv::Size source, int y) { return {warp, source, y}; }

// Both functions round to the nearest whole number, and ties to even, like std::nearbyint. Adding the large number
// rounds the fraction away. Without SSE4.1 nearbyint is a function call, which takes most of the time.
double round_place(double place) { return (place + 0x1.8p52) - 0x1.8p52; }
float round_level(float level) { return (level + 0x1.8p23f) - 0x1.8p23f; }

// Returns the nearest pixel of the source, or null if it is outside.
const uint8_t* nearest_pixel(const cv::Mat& source, double x, double y) {
  // The values are compared before the conversion, because a distant position does not fit in an int.
  const double column = round_place(x);
  const double row = round_place(y);
  if (!(column >= 0 && row >= 0 && column < source.cols && row < source.rows)) return nullptr;
  return source.ptr<uint8_t>(static_cast<int>(row)) + static_cast<size_t>(column) * source.elemSize();
}

template <size_t kBytes, class Kind>
void warp_nearest(const cv::Mat& source, const Kind& warp, const uint8_t* fill, cv::Mat& target) {
  target.create(warp.size, source.type());
  for (int y = 0; y < target.rows; ++y) {
    const auto places = row_of(warp, source.size(), y);
    uint8_t* written = target.ptr<uint8_t>(y);
    for (int x = 0; x < target.cols; ++x, written += kBytes) {
      const uint8_t* pixel = nearest_pixel(source, places.x(x), places.y(x));
      std::memcpy(written, pixel ? pixel : fill, kBytes);
    }
  }
}

uint8_t to_pixel(float value) { return static_cast<uint8_t>(round_level(std::clamp(value, 0.0f, 255.0f))); }

struct Shares {
  float right;
  float lower;
};

// Interpolates between four pixels within the source.
void mix_inner_pixels(const uint8_t* upper, const uint8_t* lower, Shares shares, uint8_t* written) {
  const float upper_left = (1 - shares.right) * (1 - shares.lower);
  const float upper_right = shares.right * (1 - shares.lower);
  const float lower_left = (1 - shares.right) * shares.lower;
  const float lower_right = shares.right * shares.lower;
  for (int channel = 0; channel < 3; ++channel) {
    const float above = upper_left * upper[channel] + upper_right * upper[channel + 3];
    const float below = lower_left * lower[channel] + lower_right * lower[channel + 3];
    written[channel] = static_cast<uint8_t>(round_level(above + below));
  }
}

// Interpolates if at least one of the four pixels is outside.
void mix_edge_pixels(const cv::Mat& source, cv::Point start, Shares shares, const Colour& fill, uint8_t* written) {
  float sums[3] = {0, 0, 0};
  float within = 0;
  for (int i = 0; i < 4; ++i) {
    const int column = start.x + (i & 1);
    const int row = start.y + (i >> 1);
    if (column < 0 || row < 0 || column >= source.cols || row >= source.rows) continue;
    const float share = ((i & 1) ? shares.right : 1 - shares.right) * ((i >> 1) ? shares.lower : 1 - shares.lower);
    const uint8_t* pixel = source.ptr<uint8_t>(row) + 3 * static_cast<size_t>(column);
    for (int channel = 0; channel < 3; ++channel) sums[channel] += share * pixel[channel];
    within += share;
  }
  for (size_t channel = 0; channel < 3; ++channel) {
    written[channel] = to_pixel((sums[channel] - fill[channel]) * within + fill[channel]);
  }
}

// REQUIRES: (x, y) is at least partly within the source.
void mix_pixels(const cv::Mat& source, double x, double y, const Colour& fill, uint8_t* written) {
  const cv::Point start(static_cast<int>(x + 1) - 1, static_cast<int>(y + 1) - 1);  // rounded down; -1 or more
  const Shares shares = {static_cast<float>(x - start.x), static_cast<float>(y - start.y)};
  if (start.x >= 0 && start.y >= 0 && start.x + 1 < source.cols && start.y + 1 < source.rows) {
    const uint8_t* upper = source.ptr<uint8_t>(start.y) + 3 * static_cast<size_t>(start.x);
    mix_inner_pixels(upper, upper + source.step, shares, written);
  } else {
    mix_edge_pixels(source, start, shares, fill, written);
  }
}

template <class Kind>
void warp_bilinear(const cv::Mat& source, const Kind& warp, const uint8_t* fill, cv::Mat& target) {
  target.create(warp.size, CV_8UC3);
  for (int y = 0; y < target.rows; ++y) {
    const auto places = row_of(warp, source.size(), y);
    uint8_t* written = target.ptr<uint8_t>(y);
    for (int x = 0; x < target.cols; ++x, written += 3) {
      const double place_x = places.x(x);
      const double place_y = places.y(x);
      if (place_x > -1 && place_y > -1 && place_x < source.cols && place_y < source.rows) {
        mix_pixels(source, place_x, place_y, warp.fill, written);
      } else {
        std::memcpy(written, fill, 3);
      }
    }
  }
}

}  // namespace

std::array<double, 6> inverse_matrix(const Affine& affine, cv::Point2d center) {
  const double rotation = radians(affine.angle);
  const double shear_x = radians(affine.shear_x);
  const double shear_y = radians(affine.shear_y);
  // Rotation, shear along y and shear along x. The determinant is 1.
  const double a = std::cos(rotation - shear_y) / std::cos(shear_y);
  const double b = -(a * std::tan(shear_x) + std::sin(rotation));
  const double c = std::sin(rotation - shear_y) / std::cos(shear_y);
  const double d = std::cos(rotation) - c * std::tan(shear_x);
  std::array<double, 6> matrix = {d / affine.scale, -b / affine.scale, 0, -c / affine.scale, a / affine.scale, 0};
  const double x = center.x + affine.translate_x;
  const double y = center.y + affine.translate_y;
  matrix[2] = center.x - matrix[0] * x - matrix[1] * y;
  matrix[5] = center.y - matrix[3] * x - matrix[4] * y;
  return matrix;
}

cv::Size expanded_size(const std::array<double, 6>& matrix, cv::Size size) {
  constexpr double kTolerance = 1e-4;  // otherwise 100.00000001 would become 101
  const auto extent = [&](double m_x, double m_y, double length) {
    // A right angle exchanges width and height, also if one of them is odd.
    if (std::abs(m_x * m_y) < 1e-12)
      return static_cast<int>(std::lround(std::abs(m_x) * size.width + std::abs(m_y) * size.height));
    const double reach = std::abs(m_x) * size.width / 2 + std::abs(m_y) * size.height / 2;
    const auto truncate = [](double value) { return std::trunc(value / kTolerance) * kTolerance; };
    return static_cast<int>(std::ceil(truncate(length / 2 + reach)) - std::floor(truncate(length / 2 - reach)));
  };
  return {extent(matrix[0], matrix[1], size.width), extent(matrix[3], matrix[4], size.height)};
}

namespace {

template <class Kind>
void warp_colours(const cv::Mat& source, const Kind& warp, cv::Mat& target) {
  const uint8_t fill[3] = {to_pixel(warp.fill[0]), to_pixel(warp.fill[1]), to_pixel(warp.fill[2])};
  if (warp.interpolation == Interpolation::nearest) {
    warp_nearest<3>(source, warp, fill, target);
  } else {
    warp_bilinear(source, warp, fill, target);
  }
}

template <class Kind>
void warp_numbers(const cv::Mat& source, const Kind& warp, double fill, cv::Mat& target) {
  const cv::Mat pixel(1, 1, source.type(), cv::Scalar(fill));
  switch (source.elemSize()) {
    case 1: return warp_nearest<1>(source, warp, pixel.data, target);
    case 2: return warp_nearest<2>(source, warp, pixel.data, target);
    default: return warp_nearest<4>(source, warp, pixel.data, target);
  }
}

}  // namespace

void warp(const cv::Mat& source, const Warp& warp, cv::Mat& target) { warp_colours(source, warp, target); }
void warp(const cv::Mat& source, const Perspective& warp, cv::Mat& target) { warp_colours(source, warp, target); }

void warp_mask(const cv::Mat& source, const Warp& warp, double fill, cv::Mat& target) {
  warp_numbers(source, warp, fill, target);
}
void warp_mask(const cv::Mat& source, const Perspective& warp, double fill, cv::Mat& target) {
  warp_numbers(source, warp, fill, target);
}

std::array<double, 8> perspective_coefficients(cv::Size size, const std::array<cv::Point, 4>& corners) {
  const std::array<cv::Point, 4> of_image = {
      cv::Point(0, 0), {size.width - 1, 0}, {size.width - 1, size.height - 1}, {0, size.height - 1}};
  cv::Matx<double, 8, 8> equations;
  cv::Vec<double, 8> right;
  for (int i = 0; i < 4; ++i) {
    const cv::Point from = corners[static_cast<size_t>(i)], to = of_image[static_cast<size_t>(i)];
    const double rows[2][8] = {
        {double(from.x), double(from.y), 1, 0, 0, 0, -double(to.x) * from.x, -double(to.x) * from.y},
        {0, 0, 0, double(from.x), double(from.y), 1, -double(to.y) * from.x, -double(to.y) * from.y}};
    for (int k = 0; k < 8; ++k) {
      equations(2 * i, k) = rows[0][k];
      equations(2 * i + 1, k) = rows[1][k];
    }
    right[2 * i] = to.x;
    right[2 * i + 1] = to.y;
  }
  const cv::Vec<double, 8> solution = equations.solve(right, cv::DECOMP_LU);
  std::array<double, 8> coefficients;
  std::copy_n(solution.val, 8, coefficients.begin());
  return coefficients;
}

}  // namespace images
