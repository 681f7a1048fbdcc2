// From the bytes of an image file to pixels: 8-bit RGB, [height, width, 3], upright.
//
//   in the file                 becomes
//   --------------------------  ------------------------------------------------------------------------------------
//   grey                        three equal channels
//   palette                     its colours
//   1, 2 or 4 bits              spread over 0 to 255
//   16 bits                     the upper 8 bits
//   alpha                       dropped, whatever the colour below it; in 8-bit TIFF the colour is multiplied by it
//   JPEG in YCbCr               RGB by JFIF; accurate integer DCT and smooth chroma upsampling, as Pillow has them
//   JPEG in CMYK or YCCK        taken as inverted, as Adobe writes it; R = K - C * K / 255, and so on, as Pillow has it
//   TIFF in CMYK                RGB as libtiff has it, which differs from that by 1 at most
//   EXIF orientation 2 to 8     turned and mirrored upright: JPEG (APP1), PNG (eXIf), WebP (EXIF), TIFF (tag 274)
//   colour profile, gamma       ignored
//   several images              the first one
//
// JPEG is decoded by libjpeg-turbo, the others by OpenCV. Errors are tenon::DataError and name the file.
#pragma once

#include <memory>
#include <string>

#include <opencv2/core.hpp>

#include "plugins/images/decode/image_info.h"

namespace images {

// What a worker thread keeps from image to image. Its buffers grow to the largest image and stay; of the heap only
// libjpeg-turbo and OpenCV's decoders ask for each image anew.
class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  struct Parts;
  Parts& parts() { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

// Loads OpenCV's decoders, which takes a while the first time. Called on creation, so that a library that is missing is
// noticed before a run starts; JPEG does without. Throws tenon::Error.
void load_decoders();

// The whole image. `info` is what read_image_info gave for the same file. The result is the decoder's, and changes with
// its next image.
cv::Mat& decode_image(Bytes file, const ImageInfo& info, const std::string& path, Decoder& decoder);

// How a JPEG may be decoded for a window: `dct` at 1/2, 1/4 or 1/8 of its size, which leaves out the finer frequencies
// of each block and so is neither linear nor area resizing; `none` at full size.
enum class Scaling { none, dct };

struct DecodedWindow {
  cv::Mat image;     // the decoder's, until its next image
  cv::Rect2d place;  // the window in `image`, in its pixels: pixel i covers [i, i + 1)
  int eighths;       // the image's scale: 8, 4, 2 or 1
};

// What will be done to the pixels: those of `from` are scaled to `to`.
struct Reduction {
  cv::Size from;
  cv::Size to;
};

// The part of the image that `window` covers, in upright pixels, decoded no larger than needed: at the smallest scale
// at which `from` still has the size of `to` in both directions. At full size `image` is the window, bit for bit that
// part of decode_image's result, and `place` all of it. At a smaller one `image` is the smallest part of the scaled
// image that holds the window, and `place` is fractional where the window's edges fall within a pixel. Damage to a JPEG
// outside the window may go unnoticed; that it breaks off never does.
// REQUIRES: window lies within the image and is not empty.
DecodedWindow decode_window(Bytes file, const ImageInfo& info, const std::string& path, cv::Rect window,
                            const Reduction& reduction, Decoder& decoder, Scaling scaling = Scaling::dct);

// The versions of the libraries that decode: others may give other pixels.
std::string describe_decoders();

}  // namespace images
