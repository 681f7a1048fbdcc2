// Writes JPEG files of kinds that OpenCV does not write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

struct JpegKind {
  std::string name;
  int components;     // 1, 3 or 4
  cv::Size sampling;  // of the first and fourth component; 1 x 1 for the others
  bool is_progressive = false;
  int left_out_scans = 0;  // scans to remove from the end of a progressive file; the file is complete but less precise
};

// All kinds of which the decoder decodes parts, and some kinds that it decodes as a whole.
const std::vector<JpegKind>& jpeg_kinds();

// Returns slopes, noise and edges, of CV_8UC(components), so that wrong neighbours change the result.
cv::Mat make_photo(cv::Size size, int components);

std::vector<uint8_t> write_jpeg(const cv::Mat& image, const JpegKind& kind);

// Returns the file with EXIF of this orientation.
std::vector<uint8_t> with_orientation(std::vector<uint8_t> jpeg, int orientation);
