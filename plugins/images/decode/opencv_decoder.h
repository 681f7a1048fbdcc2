// Whole images of the other formats, by OpenCV's decoders.
#pragma once

#include <string>

#include <opencv2/core.hpp>

#include "plugins/images/decode/image_info.h"
#include "plugins/images/decode/pixel_buffer.h"
#include "plugins/images/decode/upright.h"

namespace images {

// What is left to do to the image that decode_with_opencv gives: nothing for a TIFF, which OpenCV itself turns upright
// and cannot be kept from it.
Turn turn_after_opencv(const ImageInfo& info);

// As 8-bit RGB in `pixels`, before that turn. Throws tenon::DataError naming `path`.
cv::Mat decode_with_opencv(Bytes file, const ImageInfo& info, const std::string& path, PixelBuffer& pixels);

}  // namespace images
