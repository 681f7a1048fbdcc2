// Masks: PNG files that store class numbers as pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "plugins/images/decode/decode_image.h"

namespace segmentation {

// Buffers that a thread reuses for every mask.
struct MaskBuffers {
  std::vector<uint8_t> file;
  std::vector<uint8_t> grey;
  images::Decoder decoder;
  cv::Mat numbers;
  int orientation = 1;  // EXIF, of the mask; it is turned upright
};

// Returns the upright mask with the numbers as stored: grey levels without scaling, or palette indices. The palette's
// colours are ignored. The file has 1, 2, 4 or 8 bits. The result has 8 bits and one channel. It belongs to `buffers`
// and is valid until the next mask. Throws tenon::DataError naming the file if it is not a PNG, has colours, alpha or
// 16 bits, or is damaged.
cv::Mat& read_mask(const std::string& path, const images::Limits& limits, MaskBuffers& buffers);

}  // namespace segmentation
