// Decodes PNG files with libpng. OpenCV does too, but lets libpng print its messages to standard error.
#pragma once

#include <string>

#include <opencv2/core.hpp>

#include "plugins/images/decode/image_info.h"
#include "plugins/images/decode/pixel_buffer.h"
#include "plugins/images/decode/rendering.h"

namespace images {

// Decodes to 8-bit RGB in `pixels`, as stored. `info` is the result of read_image_info for the same file. Chunks that
// do not change the pixels, such as colour profiles and text, are skipped. `deep` holds pixels with 16 bits or alpha
// before `rendering`; `content` describes them. `warning` receives the last message of libpng about an image that it
// could decode, or "". Throws tenon::DataError naming `path`.
cv::Mat decode_png(Bytes file, const ImageInfo& info, const std::string& path, const Rendering& rendering,
                   PixelBuffer& pixels, PixelBuffer& deep, PixelContent& content, std::string& warning);

}  // namespace images
