#include "plugins/images/resample/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <opencv2/imgproc.hpp>

namespace images {
namespace {

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
