// Masks: PNG files whose pixels are the numbers of classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "plugins/images/decode/decode_image.h"

namespace segmentation {

// What a thread reuses from mask to mask.
struct MaskBuffers {
  std::vector<uint8_t> file;
  std::vector<uint8_t> grey;
  images::Decoder decoder;
  cv::Mat numbers;
};

// The numbers as they are in the file, upright: grey levels without scaling, or indices into the palette, whose colours
// do not matter; 1, 2, 4 or 8 bits. 8-bit, one channel; the buffers' until the next mask. Throws tenon::DataError
// naming the file: no PNG, colours, alpha or 16 bits, or damaged.
const cv::Mat& read_mask(const std::string& path, const images::Limits& limits, MaskBuffers& buffers);

}  // namespace segmentation
