// Header readers, one function per format. They return the size as stored, before the orientation is applied. They
// throw DamagedHeader with a text that follows "PATH: ".
#pragma once

#include "plugins/images/decode/byte_reader.h"
#include "plugins/images/decode/image_info.h"

namespace images {

ImageInfo read_jpeg_header(Bytes file);
ImageInfo read_png_header(Bytes file);
ImageInfo read_webp_header(Bytes file);
ImageInfo read_tiff_header(Bytes file, const Limits& limits);
ImageInfo read_bmp_header(Bytes file);
ImageInfo read_pnm_header(Bytes file);

// Check that the data after the header are complete. REQUIRES: the function above has accepted the file.
void check_bmp_data(Bytes file, const ImageInfo& info);
void check_pnm_data(Bytes file);

// Throws DamagedHeader if the file ends before `count` bytes from `at` on.
void check_data(const ByteReader& bytes, uint64_t at, uint64_t count);

// Throws DamagedHeader unless both sides are positive and fit a cv::Size.
cv::Size make_size(int64_t width, int64_t height);

}  // namespace images
