// Decodes whole images of the other formats with OpenCV.
#pragma once

#include <string>

#include <opencv2/core.hpp>

#include "plugins/images/decode/image_info.h"
#include "plugins/images/decode/pixel_buffer.h"
#include "plugins/images/decode/rendering.h"
#include "plugins/images/decode/upright.h"

namespace images {

// Returns the turn to apply after decode_with_opencv. It is none for a TIFF, because OpenCV always turns TIFF upright.
Turn turn_after_opencv(const ImageInfo& info);

// Decodes to 8-bit RGB in `pixels`, before that turn. `content` describes pixels with 16 bits or alpha. Throws
// tenon::DataError naming `path`, also for a TIFF with alpha that it cannot put over the background of
// `rendering`.
cv::Mat decode_with_opencv(Bytes file, const ImageInfo& info, const std::string& path, const Rendering& rendering,
                           PixelBuffer& pixels, PixelContent& content);

}  // namespace images
