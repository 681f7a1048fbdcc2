#include "plugins/images/decode/decode_image.h"

#include "plugins/images/decode/jpeg_decoder.h"
#include "plugins/images/decode/opencv_decoder.h"
#include "plugins/images/decode/png_decoder.h"
#include "plugins/images/decode/upright.h"

namespace images {

struct Decoder::Parts {
  Rendering rendering;
  JpegDecoder jpeg;
  PixelBuffer pixels;
  PixelBuffer other;  // inks, 16 bits or alpha before conversion to RGB, then the upright image
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
  cv::Mat upright = buffer.make(swap_if(turn.swaps, stored.size()), CV_8UC3);
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

DecodedWindow decode_window(Bytes file, const ImageInfo& info, const std::string& path, cv::Rect window,
                            const Reduction& reduction, Decoder& decoder, Scaling scaling) {
  CV_Assert(window.width > 0 && window.height > 0 && (window & cv::Rect({}, info.size)) == window);
  const int eighths = scaling == Scaling::dct ? choose_eighths(reduction) : 8;
  return decode(file, info, path, window, eighths, decoder);
}

std::string describe_decoders() { return describe_jpeg_decoder() + ", OpenCV " + cv::getVersionString(); }

}  // namespace images
