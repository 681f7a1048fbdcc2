// Decodes the bytes of an image file to upright 8-bit RGB pixels, [height, width, 3].
//
//   in the file                 becomes
//   --------------------------  ------------------------------------------------------------------------------------
//   grey                        three equal channels
//   palette                     its colours
//   1, 2 or 4 bits              spread over 0 to 255
//   16 bits                     the upper 8 bits, or those of a smaller range, see Rendering
//   float32 in TIFF             refused; decode_stored() has the numbers
//   alpha                       dropped, without regard to the colour below it, or put over a background
//   JPEG in YCbCr               RGB by JFIF; accurate integer DCT and smooth chroma upsampling, like Pillow
//   JPEG in CMYK or YCCK        read as inverted, as Adobe writes it; R = K - C * K / 255, and so on, like Pillow
//   TIFF in CMYK                RGB as converted by libtiff, which differs from the above by at most 1
//   EXIF orientation 2 to 8     turned and mirrored upright: JPEG (APP1), PNG (eXIf), WebP (EXIF), TIFF (tag 274)
//   colour profile, gamma       ignored
//   several images              the first one
//
// libjpeg-turbo decodes JPEG, libpng decodes PNG, and OpenCV decodes the other formats. Errors are tenon::DataError and
// name the file. The libraries print nothing.
#pragma once

#include <memory>
#include <string>

#include <opencv2/core.hpp>

#include "framework/images/decode/image_info.h"
#include "framework/images/decode/pixels.h"

namespace images {

// Buffers that a worker thread reuses for every image. They grow to the largest image and are not freed. Only
// libjpeg-turbo and OpenCV's decoders allocate memory for each image.
class Decoder {
 public:
  Decoder();
  explicit Decoder(const Rendering& rendering);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  // What a library reports about the last image although it decoded it, such as "tEXt: CRC error"; "": nothing.
  const std::string& warning() const;
  // What the last image holds that 8-bit RGB does not.
  const PixelContent& content() const;

  struct Parts;
  Parts& parts() { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

// Prevents messages of OpenCV's decoders on the terminal of a run. What they report is an error of the sample.
void silence_opencv();

// Decodes the whole image. `info` is the result of read_image_info for the same file. The result belongs to the decoder
// and is valid until its next image.
cv::Mat& decode_image(Bytes file, const ImageInfo& info, const std::string& path, Decoder& decoder);

// Decodes the whole image with the channels and the depth of the file: 8 or 16 bits, or float32 of a TIFF; grey, RGB,
// or with alpha after them. Palettes become colours, CMYK becomes RGB. Alpha of a TIFF is dropped unless it is 8-bit
// RGBA. The result belongs to the decoder, as that of decode_image(). Its rows may have gaps.
cv::Mat& decode_stored(Bytes file, const ImageInfo& info, const std::string& path, Decoder& decoder);

// How a JPEG may be decoded for a window. `dct`: at 1/2, 1/4 or 1/8 of its size. This leaves out the finer frequencies
// of each block, so it is neither linear nor area resizing. `none`: at full size.
enum class Scaling { none, dct };

struct DecodedWindow {
  cv::Mat image;     // belongs to a decoder or its worker; valid until the next image
  cv::Rect2d place;  // the window in `image`, in its pixels: pixel i covers [i, i + 1)
  int eighths;       // the image's scale: 8, 4, 2 or 1
};

// A planned resize: pixels of `from` are scaled to `to`.
struct Reduction {
  cv::Size from;
  cv::Size to;
};

// Decodes the part of the image that `window` covers, in upright pixels, no larger than needed: at the smallest scale
// at which `from` is at least as large as `to` in both directions. At full size `image` is the window, bit for bit
// equal to that part of decode_image's result, and `place` is all of it. At a smaller scale `image` is the smallest
// part of the scaled image that contains the window. `place` is then fractional if the window's edges fall within a
// pixel. Damage to a JPEG outside the window may go undetected; truncation is always detected.
// REQUIRES: window lies within the image and is not empty.
DecodedWindow decode_window(Bytes file, const ImageInfo& info, const std::string& path, cv::Rect window,
                            const Reduction& reduction, Decoder& decoder, Scaling scaling = Scaling::dct);

// Returns the versions of the decoder libraries. Other versions may decode to different pixels.
std::string describe_decoders();

}  // namespace images
