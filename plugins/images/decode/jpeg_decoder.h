// Parts of JPEG files, by libjpeg-turbo.
#pragma once

#include <memory>
#include <string>

#include <opencv2/core.hpp>

#include "plugins/images/decode/image_info.h"
#include "plugins/images/decode/pixel_buffer.h"

namespace images {

struct JpegPart {
  cv::Mat rgb;    // in the buffer
  cv::Rect part;  // what it holds of the scaled image, whose size is that of the file times eighths / 8, rounded up
  int eighths;    // the scale that was used; 8 in place of another for unusual chroma subsampling
};

// `libjpeg-turbo 2001005`
std::string describe_jpeg_decoder();

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;

  // The smallest part of the image, scaled by eighths / 8, that holds `window`, which is in pixels of the file as
  // stored; equal to that part of the whole image decoded at this scale. `stored` is the size that read_image_info saw.
  // `pixels` holds the result, `inks` CMYK on its way. Throws tenon::DataError naming `path`.
  // REQUIRES: eighths is 8, 4, 2 or 1; window is not empty and within `stored`.
  JpegPart decode(Bytes file, const std::string& path, cv::Size stored, cv::Rect window, int eighths,
                  PixelBuffer& pixels, PixelBuffer& inks);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace images
