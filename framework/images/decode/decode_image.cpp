#include "framework/images/decode/decode_image.h"

#include <cctype>
#include <cstdlib>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <tenon/error.hpp>

#include "framework/images/decode/decoders.h"
#include "framework/images/decode/headers.h"
#include "framework/images/decode/image_info.h"
#include "framework/images/decode/pixels.h"

namespace images {
namespace {

// Whether OpenCV returns the alpha channel: for WebP, and for 8-bit RGB in TIFF. It multiplies or drops all others.
bool has_readable_alpha(const ImageInfo& info) { return info.has_alpha && info.channels == 4 && info.bits == 8; }

// OpenCV prints damage to standard error, or does not report it. Returns the file that OpenCV decodes to the right
// pixels, in `copy` if it differs.
Bytes prepare_file(Bytes file, const ImageInfo& info, std::vector<uint8_t>& copy) {
  switch (info.format) {
    case Format::tiff: check_tiff_data(file); return without_alpha(file, copy);
    case Format::bmp: check_bmp_data(file, info); return file;
    case Format::pnm: {
      check_pnm_data(file);
      const bool ends_in_number = file[1] <= '3' && std::isdigit(file.back());
      if (!ends_in_number) return file;
      copy.assign(file.begin(), file.end());
      copy.push_back('\n');  // OpenCV reads the character after each number
      return copy;
    }
    default: return file;
  }
}

// The turn to apply after decode_with_opencv. It is none for a TIFF, because OpenCV always turns TIFF upright.
Turn turn_after_opencv(const ImageInfo& info) {
  return info.format == Format::tiff ? turn_of(1) : turn_of(info.orientation);
}

// Decodes with OpenCV after checking what it does not report. Throws tenon::DataError naming `path`.
cv::Mat call_opencv(Bytes file, const ImageInfo& info, const std::string& path, int flags) {
  std::vector<uint8_t> copy;
  try {
    file = prepare_file(file, info, copy);
  } catch (const DamagedHeader& error) {
    throw tenon::DataError(path + ": " + error.what());
  }
  const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8UC1, const_cast<uint8_t*>(file.data()));
  cv::Mat bgr;
  try {
    bgr = cv::imdecode(bytes, flags);
  } catch (const cv::Exception& error) {
    throw tenon::DataError(path + ": is damaged and cannot be decoded: " + error.err +
                           "; fetch the file again or remove it");
  }
  if (bgr.empty()) {
    throw tenon::DataError(path + ": is damaged, or of a kind that OpenCV cannot decode; fetch it again or convert it");
  }
  return bgr;
}

// Decodes whole images to 8-bit RGB in `pixels`, before that turn. `content` describes pixels with 16 bits or alpha.
// Throws tenon::DataError naming `path`, also for a TIFF with alpha that it cannot put over the background of
// `rendering`.
cv::Mat decode_with_opencv(Bytes file, const ImageInfo& info, const std::string& path, const Rendering& rendering,
                           PixelBuffer& pixels, PixelContent& content) {
  // By default OpenCV rounds 16 bits in some formats, and turns some formats upright.
  const int depth = info.bits == 16 ? CV_16U : CV_8U;
  const bool has_alpha = has_readable_alpha(info);
  const int flags =
      has_alpha ? cv::IMREAD_UNCHANGED
                : cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION | (info.bits == 16 ? cv::IMREAD_ANYDEPTH : 0);
  if (info.bits == 32)
    throw tenon::DataError(path +
                           ": is a TIFF of numbers with 32 bits; expected unsigned integers of up to 16 bits for an "
                           "image of 8 bits per channel; convert it, or use a dataset that decodes it as stored");
  if (info.has_alpha && !has_alpha && rendering.background) {
    throw tenon::DataError(path + ": is a TIFF of " + std::to_string(info.channels) + " channels of " +
                           std::to_string(info.bits) +
                           " bits with alpha; expected 8-bit RGB with alpha, if the parameter background is set; "
                           "convert it to PNG");
  }
  const cv::Mat bgr = call_opencv(file, info, path, flags);
  const cv::Size size = swap_if(turn_after_opencv(info).swaps, info.size);
  if (bgr.size() != size || bgr.type() != CV_MAKETYPE(depth, has_alpha ? 4 : 3)) {
    throw tenon::DataError(path + ": is damaged, its contents contradict its header; fetch the file again or " +
                           "remove it");
  }
  cv::Mat rgb = pixels.make(size, CV_8UC3);
  if (depth == CV_16U || has_alpha) {
    content = render_pixels(bgr, ChannelOrder::bgr, rendering, rgb);
  } else {
    cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
  }
  return rgb;
}

}  // namespace

// The messages of OpenCV would land in the terminal output of the run. What they report is an error of the sample.
void silence_opencv() {
  if (std::getenv("OPENCV_LOG_LEVEL") == nullptr)
    cv::utils::logging::setLogLevel(cv::utils::logging::LogLevel::LOG_LEVEL_SILENT);
}

struct Decoder::Parts {
  Rendering rendering;
  JpegDecoder jpeg;
  PixelBuffer pixels;
  PixelBuffer other;  // inks, 16 bits or alpha before conversion to RGB, then the upright image
  PixelBuffer grey;   // of a grey JPEG as stored
  cv::Mat image;
  std::string warning;
  PixelContent content;
};

Decoder::Decoder() : Decoder(Rendering()) {}
Decoder::Decoder(const Rendering& rendering) : parts_(std::make_unique<Parts>()) { parts_->rendering = rendering; }
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

const std::string& Decoder::warning() const { return parts_->warning; }
const PixelContent& Decoder::content() const { return parts_->content; }

namespace {

int choose_eighths(const Reduction& reduction) {
  for (const int eighths : {1, 2, 4}) {
    const int64_t width = int64_t{reduction.from.width} * eighths;
    const int64_t height = int64_t{reduction.from.height} * eighths;
    if (width >= int64_t{reduction.to.width} * 8 && height >= int64_t{reduction.to.height} * 8) return eighths;
  }
  return 8;
}

cv::Mat turn(const cv::Mat& stored, Turn turn, PixelBuffer& buffer) {
  if (!turn.mirrors_x && !turn.mirrors_y && !turn.swaps) return stored;
  cv::Mat upright = buffer.make(swap_if(turn.swaps, stored.size()), stored.type());
  turn_upright(stored, turn, upright);
  return upright;
}

DecodedWindow decode_jpeg(Bytes file, const ImageInfo& info, const std::string& path, cv::Rect window, int eighths,
                          Decoder::Parts& parts) {
  const Turn to_turn = turn_of(info.orientation);
  const cv::Size stored = swap_if(to_turn.swaps, info.size);
  const cv::Rect expected = to_stored(window, stored, to_turn);
  const JpegPart part = parts.jpeg.decode(file, path, stored, expected, eighths, parts.pixels, parts.other);
  const double scale = part.eighths / 8.0;
  const cv::Rect2d place(expected.x * scale - part.part.x, expected.y * scale - part.part.y, expected.width * scale,
                         expected.height * scale);
  return {turn(part.rgb, to_turn, parts.other), to_upright(place, part.rgb.size(), to_turn), part.eighths};
}

DecodedWindow decode_other(Bytes file, const ImageInfo& info, const std::string& path, cv::Rect window,
                           Decoder::Parts& parts) {
  const bool is_png = info.format == Format::png;
  const cv::Mat whole =
      is_png ? decode_png(file, info, path, parts.rendering, parts.pixels, parts.other, parts.content, parts.warning)
             : decode_with_opencv(file, info, path, parts.rendering, parts.pixels, parts.content);
  const Turn to_turn = is_png ? turn_of(info.orientation) : turn_after_opencv(info);
  const cv::Mat upright = turn(whole(to_stored(window, whole.size(), to_turn)), to_turn, parts.other);
  return {upright, cv::Rect2d(0, 0, window.width, window.height), 8};
}

DecodedWindow decode(Bytes file, const ImageInfo& info, const std::string& path, cv::Rect window, int eighths,
                     Decoder& decoder) {
  decoder.parts().warning.clear();
  decoder.parts().content = {};
  if (info.format == Format::jpeg) return decode_jpeg(file, info, path, window, eighths, decoder.parts());
  return decode_other(file, info, path, window, decoder.parts());
}

}  // namespace

cv::Mat& decode_image(Bytes file, const ImageInfo& info, const std::string& path, Decoder& decoder) {
  cv::Mat& image = decoder.parts().image;
  image = decode(file, info, path, {{}, info.size}, 8, decoder).image;
  return image;
}

cv::Mat& decode_stored(Bytes file, const ImageInfo& info, const std::string& path, Decoder& decoder) {
  Decoder::Parts& parts = decoder.parts();
  cv::Mat& image = parts.image;
  if (info.format == Format::jpeg) {
    decode_image(file, info, path, decoder);
    if (info.channels != 1) return image;
    cv::Mat grey = parts.grey.make(image.size(), CV_8UC1);
    cv::extractChannel(image, grey, 0);
    return image = grey;
  }
  parts.warning.clear();
  parts.content = {};
  if (info.format == Format::png) {
    image = decode_stored_png(file, info, path, parts.pixels, parts.warning);
  } else {
    image = call_opencv(file, info, path, cv::IMREAD_UNCHANGED);
    if (image.channels() == 3) cv::cvtColor(image, image, cv::COLOR_BGR2RGB);
    if (image.channels() == 4) cv::cvtColor(image, image, cv::COLOR_BGRA2RGBA);
  }
  const Turn to_turn = info.format == Format::png ? turn_of(info.orientation) : turn_after_opencv(info);
  image = turn(image, to_turn, parts.other);
  if (image.size() != info.size)
    throw tenon::DataError(path +
                           ": is damaged, its contents contradict its header; fetch the file again or remove it");
  return image;
}

DecodedWindow decode_window(Bytes file, const ImageInfo& info, const std::string& path, cv::Rect window,
                            const Reduction& reduction, Decoder& decoder, Scaling scaling) {
  CV_Assert(window.width > 0 && window.height > 0 && (window & cv::Rect({}, info.size)) == window);
  const int eighths = scaling == Scaling::dct ? choose_eighths(reduction) : 8;
  return decode(file, info, path, window, eighths, decoder);
}

std::string describe_decoders() { return describe_jpeg_decoder() + ", OpenCV " + cv::getVersionString(); }

}  // namespace images
