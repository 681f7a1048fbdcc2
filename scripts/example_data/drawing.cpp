#include "scripts/example_data/drawing.h"

#include <algorithm>
#include <cmath>

namespace example_data {
namespace {

constexpr double kTurn = 6.283185307179586;
constexpr int kSubpixels = 4;         // sampling points along each side of a pixel, to compute its coverage
constexpr double kContrast = 90;      // minimum distance between a shape's colour and the background colours
constexpr double kVariation = 25;     // maximum variation of each channel within a shape
constexpr double kNoise = 8;          // maximum noise on each channel, positive or negative
constexpr double kShortestWave = 12;  // in pixels
constexpr double kMaxWavelength = 80;

// (u, v) is the position relative to the centre, without the rotation, in units of the radius.
bool is_within(Form form, double u, double v) {
  switch (form) {
    case Form::circle: return u * u + v * v <= 1;
    case Form::square: return std::max(std::abs(u), std::abs(v)) <= std::sqrt(0.5);
    case Form::triangle: break;
  }
  // The sides of an equilateral triangle are half a radius from its centre.
  const double slanted = std::sqrt(0.75);
  return v <= 0.5 && slanted * u - 0.5 * v <= 0.5 && -slanted * u - 0.5 * v <= 0.5;
}

// Returns the distance to the nearest colour of the texture.
double distance_of(const Colour& colour, const Texture& texture) {
  const Colour range = texture.other() - texture.one();
  const double share = range.dot(colour - texture.one()) / std::max(1.0f, range.dot(range));
  const Colour nearest = texture.one() + range * static_cast<float>(std::clamp(share, 0.0, 1.0));
  return cv::norm(colour - nearest);
}

Colour draw_contrasting_colour(const Texture& ground, tenon::Random& random) {
  Colour colour = draw_colour(random);
  while (distance_of(colour, ground) < kContrast) colour = draw_colour(random);
  return colour;
}

Colour draw_colour_near(const Colour& colour, tenon::Random& random) {
  Colour near = colour;
  for (int channel = 0; channel < 3; ++channel) {
    near[channel] += static_cast<float>(random.uniform(-kVariation, kVariation));
  }
  return near;
}

Texture draw_ground(tenon::Random& random) {
  const Colour one = draw_colour(random);
  const Colour other = draw_colour(random);
  return Texture(one, other, random);
}

}  // namespace

const char* name_of(Form form) {
  switch (form) {
    case Form::circle: return "circle";
    case Form::square: return "square";
    case Form::triangle: break;
  }
  return "triangle";
}

double coverage_of(const Shape& shape, int column, int row) {
  if (std::hypot(column + 0.5 - shape.x, row + 0.5 - shape.y) > shape.radius + 1) return 0;
  const double cosine = std::cos(shape.rotation);
  const double sine = std::sin(shape.rotation);
  int within = 0;
  for (int i = 0; i < kSubpixels * kSubpixels; ++i) {
    const double x = (column + (i % kSubpixels + 0.5) / kSubpixels - shape.x) / shape.radius;
    const double y = (row + (i / kSubpixels + 0.5) / kSubpixels - shape.y) / shape.radius;
    within += is_within(shape.form, cosine * x + sine * y, cosine * y - sine * x);
  }
  return static_cast<double>(within) / (kSubpixels * kSubpixels);
}

Colour draw_colour(tenon::Random& random) {
  Colour colour;
  for (int channel = 0; channel < 3; ++channel) colour[channel] = static_cast<float>(random.uniform(0, 255));
  return colour;
}

Texture::Texture(const Colour& one, const Colour& other, tenon::Random& random) : one_(one), other_(other) {
  for (Wave& wave : waves_) {
    const double direction = random.uniform(0, kTurn);
    const double frequency = kTurn / random.uniform(kShortestWave, kMaxWavelength);
    wave = {frequency * std::cos(direction), frequency * std::sin(direction), random.uniform(0, kTurn)};
  }
}

Colour Texture::at(int column, int row) const {
  double sum = 0;
  for (const Wave& wave : waves_) sum += std::sin(wave.across * column + wave.down * row + wave.phase);
  const auto share = static_cast<float>(0.5 + 0.5 * sum / static_cast<double>(waves_.size()));
  return one_ + (other_ - one_) * share;
}

Picture::Picture(cv::Size size, tenon::Random& random) : ground_(draw_ground(random)), pixels_(size) {
  for (int y = 0; y < pixels_.rows; ++y) {
    for (int x = 0; x < pixels_.cols; ++x) pixels_(y, x) = ground_.at(x, y);
  }
}

void Picture::paint(const Shape& shape, tenon::Random& random) {
  const Colour colour = draw_contrasting_colour(ground_, random);
  const Texture fill(colour, draw_colour_near(colour, random), random);
  for (int y = 0; y < pixels_.rows; ++y) {
    for (int x = 0; x < pixels_.cols; ++x) {
      const double covered = coverage_of(shape, x, y);
      if (covered > 0) pixels_(y, x) += (fill.at(x, y) - pixels_(y, x)) * static_cast<float>(covered);
    }
  }
}

cv::Mat Picture::develop(tenon::Random& random) const {
  cv::Mat image(pixels_.size(), CV_8UC3);
  for (int y = 0; y < pixels_.rows; ++y) {
    for (int x = 0; x < pixels_.cols; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        const double level = static_cast<double>(pixels_(y, x)[channel]) + random.uniform(-kNoise, kNoise);
        image.at<cv::Vec3b>(y, x)[channel] = cv::saturate_cast<uint8_t>(level);
      }
    }
  }
  return image;
}

}  // namespace example_data
