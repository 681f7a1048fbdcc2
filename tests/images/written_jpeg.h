// JPEG files of kinds that OpenCV does not write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

struct JpegKind {
  std::string name;
  int components;     // 1, 3 or 4
  cv::Size sampling;  // of the first and fourth component; that of the others is 1 x 1
  bool is_progressive = false;
  int left_out_scans = 0;  // of a progressive one, from the end: it is complete, but of lower precision
};

// Everything that the decoder takes parts of, and some kinds that it does not.
const std::vector<JpegKind>& jpeg_kinds();

// Slopes, noise and edges, of CV_8UC(components), so that wrong neighbours show.
cv::Mat make_photo(cv::Size size, int components);

std::vector<uint8_t> write_jpeg(const cv::Mat& image, const JpegKind& kind);

// The file with EXIF that gives this orientation.
std::vector<uint8_t> with_orientation(std::vector<uint8_t> jpeg, int orientation);
