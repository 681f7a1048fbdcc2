// Decodes arbitrary bytes as an image, and a window of it. The first bytes choose the window and the size that is
// needed. A wrong file is refused with tenon::DataError. A window at full size has the pixels of the whole image. Only
// JPEG and PNG are decoded, because OpenCV's decoders of the other formats are not compiled for fuzzing. The data of
// TIFF, BMP and PNM are checked as before decoding.
#include <algorithm>
#include <cstring>
#include <vector>

#include <tenon/error.hpp>

#include "framework/images/decode/decode_image.h"
#include "framework/images/decode/headers.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon::fuzz;
using namespace images;

constexpr Limits kLimits = {.max_pixels = 1 << 16};

cv::Rect choose_window(Choices& choices, cv::Size size) {
  const auto choose = [&](int from, int count) {
    return from + static_cast<int>(choices.choose(static_cast<size_t>(std::min(count, 255))));
  };
  const int x = choose(0, size.width), y = choose(0, size.height);
  return {x, y, choose(1, size.width - x), choose(1, size.height - y)};
}

void check_pixels(const cv::Mat& image) {
  require(image.type() == CV_8UC3);
  uint64_t sum = 0;
  for (int y = 0; y < image.rows; ++y)
    for (int x = 0; x < image.cols * 3; ++x) sum += image.ptr(y)[x];
  require(sum <= uint64_t{255} * 3 * static_cast<uint64_t>(image.rows) * static_cast<uint64_t>(image.cols));
}

bool are_equal(const cv::Mat& a, const cv::Mat& b) {
  if (a.size() != b.size()) return false;
  for (int y = 0; y < a.rows; ++y)
    if (std::memcmp(a.ptr(y), b.ptr(y), static_cast<size_t>(a.cols) * 3) != 0) return false;
  return true;
}

void decode(Bytes file, const ImageInfo& info, const cv::Rect& window, Scaling scaling) {
  static Decoder window_decoder;  // a decoder that has decoded other images gives the same pixels
  Decoder decoder;
  const int divisor = scaling == Scaling::dct ? 8 : 1;
  const cv::Size needed(std::max(1, window.width / divisor), std::max(1, window.height / divisor));
  const DecodedWindow part =
      decode_window(file, info, "fuzzed", window, {window.size(), needed}, window_decoder, scaling);
  check_pixels(part.image);
  require(part.place.x >= 0 && part.place.y >= 0 && part.place.br().x <= part.image.cols &&
          part.place.br().y <= part.image.rows);
  const cv::Mat& whole = decode_image(file, info, "fuzzed", decoder);
  require(whole.size() == info.size);
  check_pixels(whole);
  if (part.eighths == 8) require(are_equal(part.image, whole(window)));
}

void check_data_of_others(Bytes file, const ImageInfo& info) {
  try {
    if (info.format == Format::bmp) check_bmp_data(file, info);
    if (info.format == Format::pnm) check_pnm_data(file);
    if (info.format != Format::tiff) return;
    check_tiff_data(file);
    std::vector<uint8_t> copy;
    require(without_alpha(file, copy).size() == file.size());
  } catch (const DamagedHeader&) {
  }
}

}  // namespace

TENON_FUZZ_TARGET(image_window) {
  Choices choices(input);
  if (input.size() < 5) return;
  Choices of_window(input.first(4));
  choices = Choices(input.subspan(4));
  const Scaling scaling = choices.choose(2) == 0 ? Scaling::none : Scaling::dct;
  try {
    const ImageInfo info = read_image_info(choices.rest(), "fuzzed", kLimits);
    require(info.size.width > 0 && info.size.height > 0 &&
            int64_t{info.size.width} * info.size.height <= kLimits.max_pixels);
    if (info.format != Format::jpeg && info.format != Format::png) return check_data_of_others(choices.rest(), info);
    decode(choices.rest(), info, choose_window(of_window, info.size), scaling);
  } catch (const tenon::DataError&) {
  }
}
