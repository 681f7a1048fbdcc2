#include "framework/images/decode/decoders.h"

#include <array>
#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include <png.h>
#include <tenon/error.hpp>

#include "framework/images/decode/pixels.h"

namespace images {
namespace {

// What libpng's functions receive. libpng must not be left by an exception, so none of them allocates memory.
struct Reading {
  Bytes file;
  size_t at = 0;
  std::array<char, 200> error = {};
  std::array<char, 200> warning = {};
  int channels = 0;  // in the rows
};

// Jumps back into read(), over stack frames of libpng alone. None of them has objects to destroy.
[[noreturn]] void jump_back(png_structp png, png_const_charp text) {
  auto& reading = *static_cast<Reading*>(png_get_error_ptr(png));
  std::snprintf(reading.error.data(), reading.error.size(), "%s", text);
  png_longjmp(png, 1);
}

void keep_warning(png_structp png, png_const_charp text) {
  auto& reading = *static_cast<Reading*>(png_get_error_ptr(png));
  std::snprintf(reading.warning.data(), reading.warning.size(), "%s", text);
}

void read_bytes(png_structp png, png_bytep bytes, size_t count) {
  auto& reading = *static_cast<Reading*>(png_get_io_ptr(png));
  if (count > reading.file.size() - reading.at) png_error(png, "it ends early");
  std::memcpy(bytes, reading.file.data() + reading.at, count);
  reading.at += count;
}

struct Png {
  png_structp png;
  png_infop info;

  explicit Png(Reading& reading)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, jump_back, keep_warning)),
        info(png ? png_create_info_struct(png) : nullptr) {
    if (!info) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  ~Png() { png_destroy_read_struct(&png, &info, nullptr); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
};

enum class Grey { as_rgb, as_stored };

// `depth`: CV_8U or CV_16U. `wants_alpha`: whether a row has room for it. Returns false if a step fails; the reading
// then has the reason. This function and its callees until a jump have no objects to destroy.
bool read(const Png& file, Reading& reading, cv::Size size, int depth, Grey grey, bool wants_alpha, png_bytepp rows) {
  png_structp png = file.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &reading, read_bytes);
  png_set_user_limits(png, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height));
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // all that do not change the pixels
  png_read_info(png, file.info);
  png_set_palette_to_rgb(png);
  png_set_expand_gray_1_2_4_to_8(png);
  if (grey == Grey::as_rgb) png_set_gray_to_rgb(png);
  if (depth == CV_8U) png_set_strip_16(png);
  if (depth == CV_16U && std::endian::native == std::endian::little) png_set_swap(png);
  const bool has_alpha = wants_alpha && ((png_get_color_type(png, file.info) & PNG_COLOR_MASK_ALPHA) != 0 ||
                                         png_get_valid(png, file.info, PNG_INFO_tRNS) != 0);
  if (has_alpha)
    png_set_tRNS_to_alpha(png);
  else
    png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, file.info);
  reading.channels = png_get_channels(png, file.info);
  const bool has_room =
      reading.channels <= (wants_alpha ? 4 : 3) && (grey == Grey::as_stored || reading.channels == (has_alpha ? 4 : 3));
  if (!has_room ||
      png_get_rowbytes(png, file.info) !=
          CV_ELEM_SIZE(CV_MAKETYPE(depth, reading.channels)) * static_cast<size_t>(size.width) ||
      png_get_image_height(png, file.info) != static_cast<png_uint_32>(size.height))
    png_error(png, "its contents contradict its header");
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

// Decodes into `memory`, which has room for the rows and, with four channels, for alpha. Returns the image in it, with
// the channels that the rows have.
cv::Mat decode_into(const cv::Mat& memory, Bytes file, const std::string& path, Grey grey, std::string& warning) {
  std::vector<png_bytep> rows(static_cast<size_t>(memory.rows));
  for (int y = 0; y < memory.rows; ++y) rows[static_cast<size_t>(y)] = const_cast<png_bytep>(memory.ptr(y));
  Reading reading = {file};
  const Png png(reading);
  if (!read(png, reading, memory.size(), memory.depth(), grey, memory.channels() == 4, rows.data()))
    throw tenon::DataError(path + ": is damaged and cannot be decoded: " + reading.error.data() +
                           "; fetch the file again or remove it");
  warning = reading.warning.data();
  return cv::Mat(memory.size(), CV_MAKETYPE(memory.depth(), reading.channels), memory.data, memory.step);
}

cv::Size stored_size(const ImageInfo& info) { return swap_if(turn_of(info.orientation).swaps, info.size); }
int stored_depth(const ImageInfo& info) { return info.bits == 16 ? CV_16U : CV_8U; }

}  // namespace

cv::Mat decode_stored_png(Bytes file, const ImageInfo& info, const std::string& path, PixelBuffer& pixels,
                          std::string& warning) {
  const cv::Mat memory = pixels.make(stored_size(info), CV_MAKETYPE(stored_depth(info), 4));
  return decode_into(memory, file, path, Grey::as_stored, warning);
}

cv::Mat decode_png(Bytes file, const ImageInfo& info, const std::string& path, const Rendering& rendering,
                   PixelBuffer& pixels, PixelBuffer& deep, PixelContent& content, std::string& warning) {
  const cv::Size size = stored_size(info);
  const int depth = stored_depth(info);
  const bool is_plain = depth == CV_8U && !info.has_alpha;
  cv::Mat rgb = pixels.make(size, CV_8UC3);
  const cv::Mat memory = is_plain ? rgb : deep.make(size, CV_MAKETYPE(depth, info.has_alpha ? 4 : 3));
  const cv::Mat stored = decode_into(memory, file, path, Grey::as_rgb, warning);
  if (!is_plain) content = render_pixels(stored, ChannelOrder::rgb, rendering, rgb);
  return rgb;
}

}  // namespace images
