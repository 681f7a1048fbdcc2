// Matrices of OpenCV over the memory of samples, for datasets that use OpenCV. Needs OpenCV 4; link opencv_core.
//
//   void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
//     const cv::Mat photo = cv::imread(files_[static_cast<size_t>(sample.index)]);    // blue, green, red
//     tenon::put_bgr(photo, sink, "image", 1.0 / 255);                     // float32 [3, H, W]: red, green, blue
//     cv::Mat mask = tenon::view(sink, "mask", {photo.rows, photo.cols});  // is in the batch, without a copy
//     cv::inRange(photo, cv::Scalar(0, 0, 128), cv::Scalar(64, 64, 255), mask);
//   }
//
// OpenCV replaces the memory of a matrix that it cannot write to, if the size or the type differ: the batch then stays
// as it is. So write the first time with the right size and type.
//
// The data workers of the host are the threads: call cv::setNumThreads(1) in the constructor of the dataset. To read
// image files with the transforms of the run file, see draft/images.hpp, which needs no OpenCV in the plugin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

#include "dataset.hpp"

namespace tenon {

namespace detail {

// Returns the depth of matrices with these elements, such as CV_32F. Throws Error if OpenCV has none.
inline int mat_depth(const Field& field) {
  switch (field.dtype) {
    case TENON_UINT8:
    case TENON_BOOL: return CV_8U;
    case TENON_INT8: return CV_8S;
    case TENON_INT16: return CV_16S;
    case TENON_INT32: return CV_32S;
    case TENON_FLOAT16: return CV_16F;
    case TENON_FLOAT32: return CV_32F;
    case TENON_FLOAT64: return CV_64F;
    default:
      throw Error(TENON_INVALID_ARGUMENT, "field \"" + field.name + "\" has dtype " + dtype_name(field.dtype) +
                                              ", for which OpenCV 4 has no matrices; write it through slot()");
  }
}

inline int to_extent(int64_t extent) {
  if (extent >= 0 && extent <= INT32_MAX) return static_cast<int>(extent);
  throw Error(TENON_INVALID_ARGUMENT, "an extent of a matrix is " + std::to_string(extent));
}

[[noreturn]] inline void refuse_shape(const Field& field, const char* expected) {
  throw Error(TENON_INVALID_ARGUMENT, "field \"" + field.name + "\" has " + std::to_string(field.shape.size()) +
                                          " dimensions; expected " + expected);
}

}  // namespace detail

// Returns a matrix over the memory of a field [H, W], or [H, W, C] with C channels. `shape`: of this sample, if the
// field has extents of -1.
inline cv::Mat view(const Sink& sink, std::string_view name, std::vector<int64_t> shape = {}) {
  const Field& field = sink.field(name);
  if (shape.empty()) shape = field.shape;
  if (shape.size() != 2 && shape.size() != 3) detail::refuse_shape(field, "[H, W] or [H, W, C]");
  const int channels = shape.size() == 3 ? detail::to_extent(shape[2]) : 1;
  if (channels < 1 || channels > CV_CN_MAX) detail::refuse_shape(field, "1 to 512 channels");
  return cv::Mat(detail::to_extent(shape[0]), detail::to_extent(shape[1]),
                 CV_MAKETYPE(detail::mat_depth(field), channels), sink.raw_slot(name, shape));
}

// Returns a matrix over each plane of a field [C, H, W].
inline std::vector<cv::Mat> view_planes(const Sink& sink, std::string_view name, std::vector<int64_t> shape = {}) {
  const Field& field = sink.field(name);
  if (shape.empty()) shape = field.shape;
  if (shape.size() != 3) detail::refuse_shape(field, "[C, H, W]");
  const int height = detail::to_extent(shape[1]), width = detail::to_extent(shape[2]);
  auto* memory = static_cast<uint8_t*>(sink.raw_slot(name, shape));
  std::vector<cv::Mat> planes;
  for (int64_t i = 0; i < shape[0]; ++i) {
    planes.emplace_back(height, width, CV_MAKETYPE(detail::mat_depth(field), 1), memory);
    memory += planes.back().total() * planes.back().elemSize();
  }
  return planes;
}

// Writes an image of OpenCV, blue, green and red, into a field as red, green and blue times `scale`. The field is [3,
// H, W], or [H, W, 3], of any dtype that OpenCV has; conversions to whole numbers round and saturate. Throws Error if
// the image has another size than the field or not three channels.
inline void put_bgr(const cv::Mat& bgr, const Sink& sink, std::string_view name, double scale = 1) {
  const Field& field = sink.field(name);
  if (field.shape.size() != 3 || (field.shape[0] != 3 && field.shape[2] != 3))
    detail::refuse_shape(field, "[3, H, W] or [H, W, 3]");
  if (bgr.empty())
    throw Error(TENON_INVALID_ARGUMENT,
                "an image for the field \"" + field.name + "\" is empty: its file is missing or cannot be decoded");
  if (bgr.channels() != 3)
    throw Error(TENON_INVALID_ARGUMENT, "an image for the field \"" + field.name + "\" has " +
                                            std::to_string(bgr.channels()) + " channels; expected blue, green and red");
  std::vector<cv::Mat> channels;
  cv::split(bgr, channels);
  std::swap(channels[0], channels[2]);
  if (field.shape[2] == 3) {
    cv::Mat rgb, written = view(sink, name, {bgr.rows, bgr.cols, 3});
    cv::merge(channels, rgb);
    rgb.convertTo(written, written.depth(), scale);
  } else {
    std::vector<cv::Mat> planes = view_planes(sink, name, {3, bgr.rows, bgr.cols});
    for (size_t i = 0; i < 3; ++i) channels[i].convertTo(planes[i], planes[i].depth(), scale);
  }
}

}  // namespace tenon
