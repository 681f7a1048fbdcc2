#include "framework/images/resample/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <opencv2/imgproc.hpp>

namespace images {
namespace {

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// The source pixels under the filter for each output.
class FilterSupport {
 public:
  FilterSupport(const Axis& axis, Filter filter)
      : axis_(axis),
        scale_((axis.end - axis.begin) / axis.scaled),
        stretch_(std::max(scale_, 1.0)),
        support_((filter == Filter::triangle ? 1.0 : 2.0) * stretch_) {}

  double center(int output) const { return axis_.begin + (output + 0.5) * scale_; }
  double stretch() const { return stretch_; }
  int max_taps() const { return static_cast<int>(std::ceil(support_)) * 2 + 1; }
  // Pillow truncates the sums toward 0 in this way; negative ones are clamped.
  // NOLINTBEGIN(bugprone-incorrect-roundings)
  int begin(int output) const { return std::max(static_cast<int>(center(output) - support_ + 0.5), 0); }
  int end(int output) const { return std::min(static_cast<int>(center(output) + support_ + 0.5), axis_.length); }
  // NOLINTEND(bugprone-incorrect-roundings)

 private:
  const Axis& axis_;
  double scale_;
  double stretch_;
  double support_;
};

int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << Weights::kBits);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

bool is_not_zero(int32_t value) { return value != 0; }

int32_t pack_pair(int32_t even, int32_t odd) {
  return static_cast<int32_t>((static_cast<uint32_t>(odd) << 16) | (static_cast<uint32_t>(even) & 0xFFFFu));
}

void split_into_pairs(Weights& weights) {
  constexpr int32_t kLowMask = (1 << Weights::kLowBits) - 1;
  weights.low.resize(weights.values.size() / 2);
  weights.high.resize(weights.values.size() / 2);
  for (size_t pair = 0; pair < weights.low.size(); ++pair) {
    const int32_t even = weights.values[2 * pair];
    const int32_t odd = weights.values[2 * pair + 1];
    weights.low[pair] = pack_pair(even & kLowMask, odd & kLowMask);
    weights.high[pair] = pack_pair(even >> Weights::kLowBits, odd >> Weights::kLowBits);
  }
}

uint8_t to_pixel(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> Weights::kBits, 0, 255)); }

void scale_row(const uint8_t* row, const Weights& weights, uint8_t* written) {
  for (size_t output = 0; output < weights.outputs(); ++output) {
    const int32_t* values = weights.values.data() + output * static_cast<size_t>(weights.taps);
    const uint8_t* pixel = row + 3 * static_cast<size_t>(weights.first[output]);
    int32_t sums[3] = {Weights::kHalf, Weights::kHalf, Weights::kHalf};
    for (int tap = 0; tap < weights.count[output]; ++tap, pixel += 3) {
      for (int channel = 0; channel < 3; ++channel) sums[channel] += pixel[channel] * values[tap];
    }
    for (int channel = 0; channel < 3; ++channel) written[3 * output + channel] = to_pixel(sums[channel]);
  }
}

void scale_horizontally(const SourceRows& source, const Weights& weights, const WrittenRows& written) {
  for (int y = 0; y < source.height; ++y) {
    const auto row = static_cast<size_t>(y);
    scale_row(source.data + row * source.stride, weights, written.data + row * written.stride);
  }
}

void scale_vertically(const SourceRows& source, int first_row, const Weights& weights, const WrittenRows& written) {
  const size_t bytes = 3 * static_cast<size_t>(source.width);
  std::vector<int32_t> sums(bytes);
  for (size_t output = 0; output < weights.outputs(); ++output) {
    std::fill(sums.begin(), sums.end(), Weights::kHalf);
    const uint8_t* row = source.data + static_cast<size_t>(weights.first[output] - first_row) * source.stride;
    for (int tap = 0; tap < weights.count[output]; ++tap, row += source.stride) {
      const int32_t weight = weights.values[output * static_cast<size_t>(weights.taps) + static_cast<size_t>(tap)];
      for (size_t i = 0; i < bytes; ++i) sums[i] += row[i] * weight;
    }
    std::transform(sums.begin(), sums.end(), written.data + output * written.stride, to_pixel);
  }
}

Axis across(cv::Size source, const ResizeArea& area) {
  return {source.width,      area.box.x,  area.box.x + area.box.width,
          area.scaled.width, area.part.x, area.part.x + area.part.width};
}

Axis down(cv::Size source, const ResizeArea& area) {
  return {source.height,      area.box.y,  area.box.y + area.box.height,
          area.scaled.height, area.part.y, area.part.y + area.part.height};
}

Filter filter_of(Interpolation interpolation) {
  return interpolation == Interpolation::bicubic ? Filter::cubic : Filter::triangle;
}

bool keeps_lengths(const Axis& axis) {
  return axis.begin == std::floor(axis.begin) && axis.end - axis.begin == axis.scaled;
}

size_t row_bytes(int width) { return 3 * static_cast<size_t>(width) + WrittenRows::kRowMargin; }

// Scales the rows that the vertical pass needs horizontally, then vertically. A pass that keeps all lengths is skipped.
void resize_antialiased(const cv::Mat& source, const ResizeArea& area, Filter filter, ResampleBuffers& buffers,
                        cv::Mat& target, const ResamplePasses& passes) {
  const Axis horizontal = across(source.size(), area);
  const Axis vertical = down(source.size(), area);
  compute_weights(vertical, filter, buffers.down);
  const int first_row = buffers.down.begin();
  const int height = buffers.down.end() - first_row;

  const size_t stride = row_bytes(area.part.width);
  buffers.rows.resize(stride * static_cast<size_t>(height));
  const WrittenRows rows = {buffers.rows.data(), stride};
  if (keeps_lengths(horizontal)) {
    const int left = static_cast<int>(horizontal.begin) + horizontal.part_begin;
    for (int y = 0; y < height; ++y) {
      std::memcpy(rows.data + static_cast<size_t>(y) * stride, source.ptr<uint8_t>(first_row + y) + ptrdiff_t{3} * left,
                  3 * static_cast<size_t>(area.part.width));
    }
  } else {
    compute_weights(horizontal, filter, buffers.across);
    passes.horizontal({source.ptr<uint8_t>(first_row), source.step, source.cols, height}, buffers.across, rows);
  }

  buffers.mixed.resize(stride * static_cast<size_t>(area.part.height));
  WrittenRows mixed = {buffers.mixed.data(), stride};
  if (keeps_lengths(vertical)) {
    mixed = rows;
  } else {
    passes.vertical({rows.data, stride, area.part.width, height}, first_row, buffers.down, mixed);
  }
  target.create(area.part.size(), CV_8UC3);
  for (int y = 0; y < target.rows; ++y) {
    std::memcpy(target.ptr<uint8_t>(y), mixed.data + static_cast<size_t>(y) * stride,
                3 * static_cast<size_t>(target.cols));
  }
}

void resize_plainly(const cv::Mat& source, const ResizeArea& area, Interpolation interpolation,
                    ResampleBuffers& buffers, cv::Mat& target) {
  const int flag = interpolation == Interpolation::bicubic ? cv::INTER_CUBIC : cv::INTER_LINEAR;
  if (area.part.size() == area.scaled) {
    cv::resize(source, target, area.scaled, 0, 0, flag);
  } else {
    cv::resize(source, buffers.scaled, area.scaled, 0, 0, flag);
    buffers.scaled(area.part).copyTo(target);
  }
}

std::vector<int> nearest_places(const Axis& axis) {
  std::vector<int> places;
  const double scale = (axis.end - axis.begin) / axis.scaled;
  for (int output = axis.part_begin; output < axis.part_end; ++output) {
    const double place = std::floor(axis.begin + (output + 0.5) * scale);
    places.push_back(std::clamp(static_cast<int>(place), 0, axis.length - 1));
  }
  return places;
}

}  // namespace

int Weights::begin() const { return *std::min_element(first.begin(), first.end()); }

int Weights::end() const {
  int end = 0;
  for (size_t output = 0; output < outputs(); ++output) end = std::max(end, first[output] + count[output]);
  return end;
}

void compute_weights(const Axis& axis, Filter filter, Weights& weights) {
  const FilterSupport reach(axis, filter);
  const auto outputs = static_cast<size_t>(axis.part_end - axis.part_begin);
  weights.taps = (reach.max_taps() + 1) / 2 * 2;
  weights.first.resize(outputs);
  weights.count.resize(outputs);
  weights.values.assign(outputs * static_cast<size_t>(weights.taps), 0);
  std::vector<double> raw(static_cast<size_t>(weights.taps));
  for (size_t output = 0; output < outputs; ++output) {
    const int place = axis.part_begin + static_cast<int>(output);
    const double center = reach.center(place);
    const int first = reach.begin(place);
    const int count = reach.end(place) - first;
    double sum = 0;
    for (int tap = 0; tap < count; ++tap) {
      const double x = (tap + first - center + 0.5) * (1.0 / reach.stretch());
      const double weight = filter == Filter::triangle ? triangle(x) : cubic(x);
      raw[static_cast<size_t>(tap)] = weight;
      sum += weight;
    }
    int32_t* values = weights.values.data() + output * static_cast<size_t>(weights.taps);
    for (int tap = 0; tap < count; ++tap) values[tap] = to_fixed(raw[static_cast<size_t>(tap)] / sum);
    // Taps of weight 0 at either end are common, and cost as much as other taps.
    const int zeros = static_cast<int>(std::find_if(values, values + count - 1, is_not_zero) - values);
    std::copy(values + zeros, values + count, values);
    std::fill(values + count - zeros, values + count, 0);
    weights.first[output] = first + zeros;
    weights.count[output] = count - zeros;
    while (weights.count[output] > 1 && values[weights.count[output] - 1] == 0) --weights.count[output];
  }
  split_into_pairs(weights);
}

PixelRange needed_pixels(const Axis& axis, Filter filter) {
  const FilterSupport reach(axis, filter);
  return {reach.begin(axis.part_begin), reach.end(axis.part_end - 1)};
}

const ResamplePasses kPortablePasses = {&scale_horizontally, &scale_vertically};

const ResamplePasses& best_passes() {
  static const ResamplePasses& best = avx2_passes() ? *avx2_passes() : kPortablePasses;
  return best;
}

void resize_nearest(const cv::Mat& source, const ResizeArea& area, cv::Mat& target) {
  const std::vector<int> columns = nearest_places(across(source.size(), area));
  const std::vector<int> rows = nearest_places(down(source.size(), area));
  const size_t bytes = source.elemSize();
  target.create(area.part.size(), source.type());
  for (int y = 0; y < target.rows; ++y) {
    const uint8_t* row = source.ptr<uint8_t>(rows[static_cast<size_t>(y)]);
    uint8_t* written = target.ptr<uint8_t>(y);
    for (const int column : columns) {
      std::memcpy(written, row + bytes * static_cast<size_t>(column), bytes);
      written += bytes;
    }
  }
}

void resize(const cv::Mat& source, const ResizeArea& area, Interpolation interpolation, Antialias antialias,
            ResampleBuffers& buffers, cv::Mat& target, const ResamplePasses& passes) {
  if (interpolation == Interpolation::nearest) {
    resize_nearest(source, area, target);
  } else if (antialias == Antialias::yes) {
    resize_antialiased(source, area, filter_of(interpolation), buffers, target, passes);
  } else {
    resize_plainly(source, area, interpolation, buffers, target);
  }
}

cv::Rect needed_window(cv::Size source, const ResizeArea& area, Interpolation interpolation) {
  const PixelRange columns = needed_pixels(across(source, area), filter_of(interpolation));
  const PixelRange rows = needed_pixels(down(source, area), filter_of(interpolation));
  return {columns.begin, rows.begin, columns.end - columns.begin, rows.end - rows.begin};
}

}  // namespace images
