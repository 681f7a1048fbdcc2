#include "framework/images/transforms/apply_step.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <opencv2/imgproc.hpp>

namespace images {
namespace {

using Table = std::array<uint8_t, 256>;
using Tables = std::array<Table, 3>;

// Rounds towards 0, like a conversion of a tensor's dtype.
uint8_t truncate(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f)); }

template <class Work>
void for_each_pixel(cv::Mat& image, Work&& work) {
  for (int y = 0; y < image.rows; ++y) {
    uint8_t* pixel = image.ptr<uint8_t>(y);
    const uint8_t* end = pixel + 3 * static_cast<size_t>(image.cols);
    for (; pixel < end; pixel += 3) work(pixel);
  }
}

void look_up(const Tables& tables, cv::Mat& image) {
  for_each_pixel(image, [&](uint8_t* pixel) {
    for (size_t channel = 0; channel < 3; ++channel) pixel[channel] = tables[channel][pixel[channel]];
  });
}

template <class Function>
Table make_table(Function&& function) {
  Table table;
  for (int value = 0; value < 256; ++value) table[static_cast<size_t>(value)] = function(value);
  return table;
}

void look_up(const Table& table, cv::Mat& image) { look_up(Tables{table, table, table}, image); }

using Histogram = std::array<int64_t, 256>;

std::array<Histogram, 3> count_values(cv::Mat& image) {
  std::array<Histogram, 3> counts = {};
  for_each_pixel(image, [&](const uint8_t* pixel) {
    for (size_t channel = 0; channel < 3; ++channel) ++counts[channel][pixel[channel]];
  });
  return counts;
}

Table stretch_contrast(const Histogram& counts) {
  int darkest = 0;
  while (counts[static_cast<size_t>(darkest)] == 0) ++darkest;
  int brightest = 255;
  while (counts[static_cast<size_t>(brightest)] == 0) --brightest;
  if (darkest == brightest) return make_table([](int value) { return static_cast<uint8_t>(value); });
  const float scale = static_cast<float>(brightest - darkest) * (1.0f / 255.0f);
  return make_table([&](int value) { return truncate(static_cast<float>(value - darkest) / scale); });
}

// Uses Pillow's definition, which leaves the brightest value out of the step.
Table equalize(const Histogram& counts) {
  int64_t total = 0;
  int64_t last = 0;
  for (const int64_t count : counts) {
    total += count;
    if (count > 0) last = count;
  }
  const int64_t step = (total - last) / 255;
  if (step == 0) return make_table([](int value) { return static_cast<uint8_t>(value); });
  Table table = {};
  int64_t below = 0;
  for (size_t value = 0; value < 256; ++value) {
    table[value] = value == 0 ? uint8_t{0} : static_cast<uint8_t>(std::min<int64_t>((below + step / 2) / step, 255));
    below += counts[value];
  }
  return table;
}

// Pixels as numbers, channel by channel, without branches or calls, so that compilers can vectorise the code.
struct Numbers {
  static constexpr int kMaxCount = 256;
  int count;
  float red[kMaxCount];
  float green[kMaxCount];
  float blue[kMaxCount];
};

void load(const uint8_t* pixel, Numbers& numbers) {
  for (int i = 0; i < numbers.count; ++i, pixel += 3) {
    numbers.red[i] = pixel[0];
    numbers.green[i] = pixel[1];
    numbers.blue[i] = pixel[2];
  }
}

void truncate_channel(const float* channel, int count, uint8_t* levels) {
  for (int i = 0; i < count; ++i) {
    levels[i] = static_cast<uint8_t>(static_cast<int>(std::min(std::max(channel[i], 0.0f), 255.0f)));
  }
}

void store(const Numbers& numbers, uint8_t* pixel) {
  uint8_t levels[3][Numbers::kMaxCount];
  truncate_channel(numbers.red, numbers.count, levels[0]);
  truncate_channel(numbers.green, numbers.count, levels[1]);
  truncate_channel(numbers.blue, numbers.count, levels[2]);
  for (int i = 0; i < numbers.count; ++i, pixel += 3) {
    pixel[0] = levels[0][i];
    pixel[1] = levels[1][i];
    pixel[2] = levels[2][i];
  }
}

// Applies `work(numbers)` to all pixels, many at a time.
template <class Work>
void change_numbers(cv::Mat& image, Work&& work) {
  Numbers numbers;
  for (int y = 0; y < image.rows; ++y) {
    for (int x = 0; x < image.cols; x += Numbers::kMaxCount) {
      uint8_t* pixel = image.ptr<uint8_t>(y) + 3 * static_cast<size_t>(x);
      numbers.count = std::min(Numbers::kMaxCount, image.cols - x);
      load(pixel, numbers);
      work(numbers);
      store(numbers, pixel);
    }
  }
}

// Returns whole levels.
float brightness_of(const Numbers& numbers, int i) {
  const float sum = numbers.red[i] * 0.2989f + numbers.green[i] * 0.587f + numbers.blue[i] * 0.114f;
  return static_cast<float>(static_cast<int>(sum));
}

int64_t sum_brightness(const cv::Mat& image) {
  int64_t sum = 0;
  Numbers numbers;
  for (int y = 0; y < image.rows; ++y) {
    for (int x = 0; x < image.cols; x += Numbers::kMaxCount) {
      numbers.count = std::min(Numbers::kMaxCount, image.cols - x);
      load(image.ptr<uint8_t>(y) + 3 * static_cast<size_t>(x), numbers);
      for (int i = 0; i < numbers.count; ++i) sum += static_cast<int>(brightness_of(numbers, i));
    }
  }
  return sum;
}

struct Hsv {
  float hue;  // in sixths of a turn, [0, 6)
  float saturation;
  float value;
};

Hsv to_hsv(float r, float g, float b) {
  const float most = std::max(std::max(r, g), b);
  const float range = most - std::min(std::min(r, g), b);
  const float divisor = range == 0 ? 1.0f : range;
  const float rc = (most - r) / divisor;
  const float gc = (most - g) / divisor;
  const float bc = (most - b) / divisor;
  float hue = gc + 4.0f - rc;
  hue = most == g ? rc + 2.0f - bc : hue;
  hue = most == r ? bc - gc : hue;
  hue = hue < 0 ? hue + 6.0f : hue;
  return {hue, range / (most == 0 ? 1.0f : most), most};
}

// Red, green and blue are the same function of the hue, shifted by a third of a turn. `offset` is 5, 3 and 1.
float channel_of(const Hsv& hsv, float offset) {
  float place = hsv.hue + offset;
  place = place >= 6.0f ? place - 6.0f : place;
  const float away = std::min(std::max(std::min(place, 4.0f - place), 0.0f), 1.0f);
  // Like torchvision's conversion to 8 bits: all levels have the same width.
  return (hsv.value - hsv.value * hsv.saturation * away) * 255.999f;
}

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

void apply(const Brightness& step, cv::Mat& image) {
  const auto factor = static_cast<float>(step.factor);
  look_up(make_table([&](int value) { return truncate(static_cast<float>(value) * factor); }), image);
}

void apply(const Contrast& step, cv::Mat& image) {
  const auto mean = static_cast<float>(static_cast<double>(sum_brightness(image)) / static_cast<double>(image.total()));
  const auto factor = static_cast<float>(step.factor);
  const auto rest = static_cast<float>(1.0 - step.factor) * mean;
  look_up(make_table([&](int value) { return truncate(static_cast<float>(value) * factor + rest); }), image);
}

void apply(const Saturation& step, cv::Mat& image) {
  const auto factor = static_cast<float>(step.factor);
  const auto rest = static_cast<float>(1.0 - step.factor);
  change_numbers(image, [&](Numbers& numbers) {
    for (int i = 0; i < numbers.count; ++i) {
      const float grey = brightness_of(numbers, i) * rest;
      numbers.red[i] = numbers.red[i] * factor + grey;
      numbers.green[i] = numbers.green[i] * factor + grey;
      numbers.blue[i] = numbers.blue[i] * factor + grey;
    }
  });
}

void apply(const Hue& step, cv::Mat& image) {
  const auto shift = static_cast<float>(6 * step.shift);
  change_numbers(image, [&](Numbers& numbers) {
    for (int i = 0; i < numbers.count; ++i) {
      Hsv hsv = to_hsv(numbers.red[i] / 255.0f, numbers.green[i] / 255.0f, numbers.blue[i] / 255.0f);
      hsv.hue += shift;
      hsv.hue = hsv.hue < 0 ? hsv.hue + 6.0f : hsv.hue;
      hsv.hue = hsv.hue >= 6.0f ? hsv.hue - 6.0f : hsv.hue;
      numbers.red[i] = channel_of(hsv, 5);
      numbers.green[i] = channel_of(hsv, 3);
      numbers.blue[i] = channel_of(hsv, 1);
    }
  });
}

void apply(const Grayscale&, cv::Mat& image) {
  change_numbers(image, [](Numbers& numbers) {
    for (int i = 0; i < numbers.count; ++i) {
      const float grey = brightness_of(numbers, i);
      numbers.red[i] = grey;
      numbers.green[i] = grey;
      numbers.blue[i] = grey;
    }
  });
}

void apply(const Posterize& step, cv::Mat& image) {
  const int mask = (0xFF << (8 - step.bits)) & 0xFF;
  look_up(make_table([&](int value) { return static_cast<uint8_t>(value & mask); }), image);
}

void apply(const Solarize& step, cv::Mat& image) {
  const auto threshold = static_cast<float>(step.threshold);
  const auto solarize = [&](int value) { return static_cast<float>(value) >= threshold ? 255 - value : value; };
  look_up(make_table([&](int value) { return static_cast<uint8_t>(solarize(value)); }), image);
}

void apply(const AutoContrast&, cv::Mat& image) {
  const std::array<Histogram, 3> counts = count_values(image);
  look_up(Tables{stretch_contrast(counts[0]), stretch_contrast(counts[1]), stretch_contrast(counts[2])}, image);
}

void apply(const Equalize&, cv::Mat& image) {
  const std::array<Histogram, 3> counts = count_values(image);
  look_up(Tables{equalize(counts[0]), equalize(counts[1]), equalize(counts[2])}, image);
}

void apply(const Invert&, cv::Mat& image) {
  look_up(make_table([](int value) { return static_cast<uint8_t>(255 - value); }), image);
}

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
