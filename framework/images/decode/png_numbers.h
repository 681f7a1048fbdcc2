// Masks: PNG files that store class numbers as pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "framework/images/decode/decode_image.h"

namespace images {

// Buffers that a thread reuses for every mask.
struct NumberBuffers {
  Decoder decoder;  // without a background, which would replace numbers
  std::vector<uint8_t> grey;
  cv::Mat numbers;
};

// Returns the upright mask with the numbers as stored: grey levels without scaling, or palette indices. The palette's
// colours are ignored. The file has 1, 2, 4 or 8 bits. The result has 8 bits and one channel. It belongs to `buffers`
// and is valid until the next mask. `info` is the result of read_image_info for the same file. Throws tenon::DataError
// naming the file if it is not a PNG, has colours, alpha or 16 bits, or is damaged.
cv::Mat& decode_numbers(Bytes file, const ImageInfo& info, const std::string& path, NumberBuffers& buffers);

}  // namespace images
