// Checks the pixel data of a TIFF file. libtiff fills the parts that it cannot decode with black, and OpenCV reports
// success.
#pragma once

#include <vector>

#include "plugins/images/decode/image_info.h"

namespace images {

// Compares the size of every strip or tile after decompression with the size that the header gives (TIFF 6.0, sections
// 9, 13 and 21), and decodes JPEG as the decoder will (TIFF Technical Note 2). Throws DamagedHeader. REQUIRES:
// read_tiff_header() has accepted the file.
void check_tiff_data(Bytes file);

// OpenCV multiplies the colours by the alpha channel. Returns a copy of the file in `copy`, with a header that says
// that they are multiplied already, or the file itself if it has no such channel.
Bytes without_alpha(Bytes file, std::vector<uint8_t>& copy);

}  // namespace images
