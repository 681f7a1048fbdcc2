// Decoders of single formats.
#pragma once

#include <memory>
#include <string>

#include <opencv2/core.hpp>

#include "framework/images/decode/image_info.h"
#include "framework/images/decode/pixels.h"

namespace images {

struct JpegPart {
  cv::Mat rgb;    // pixels in the buffer
  cv::Rect part;  // part of the scaled image that `rgb` has; the scaled size is ceil(file size * eighths / 8)
  int eighths;    // the scale used; always 8 for unusual chroma subsampling
};

// Returns for example `libjpeg-turbo 2001005`.
std::string describe_jpeg_decoder();

// What the header of a TIFF file says about the JPEG data of a strip or tile.
struct ExpectedJpeg {
  cv::Size size;
  int whole_rows;  // rows if the part is filled up
  int components;
  bool may_subsample;
};

// Decodes a strip or tile of a TIFF file, and returns what is wrong with it, or "". `tables`: the tag JPEGTables, or
// none.
std::string find_jpeg_damage(Bytes tables, Bytes part, const ExpectedJpeg& expected);

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;

  // Decodes the smallest part of the image, scaled by eighths / 8, that contains `window`. The window is in pixels of
  // the file as stored. The result equals that part of the whole image decoded at this scale. `stored` is the size from
  // read_image_info. `pixels` receives the result; `inks` holds CMYK before conversion. Throws tenon::DataError naming
  // `path`.
  // REQUIRES: eighths is 8, 4, 2 or 1; window is not empty and within `stored`.
  JpegPart decode(Bytes file, const std::string& path, cv::Size stored, cv::Rect window, int eighths,
                  PixelBuffer& pixels, PixelBuffer& inks);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

// Decodes PNG files with libpng: OpenCV lets it print its messages to standard error. Decodes to 8-bit RGB in `pixels`,
// as stored. `info` is the result of read_image_info for the same file. Chunks that do not change the pixels, such as
// colour profiles and text, are skipped. `deep` holds pixels with 16 bits or alpha before `rendering`; `content`
// describes them. `warning` receives the last message of libpng about an image that it could decode, or "". Throws
// tenon::DataError naming `path`.
cv::Mat decode_png(Bytes file, const ImageInfo& info, const std::string& path, const Rendering& rendering,
                   PixelBuffer& pixels, PixelBuffer& deep, PixelContent& content, std::string& warning);

// The same with the channels and the depth of the file: grey, grey and alpha, RGB or RGBA of 8 or 16 bits. Palettes
// become colours. The rows may have gaps.
cv::Mat decode_stored_png(Bytes file, const ImageInfo& info, const std::string& path, PixelBuffer& pixels,
                          std::string& warning);

}  // namespace images
