#include "plugins/images/decode/image_info.h"

#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>

#include <tenon/error.hpp>

#include "plugins/images/decode/complete_file.h"
#include "plugins/images/decode/headers.h"

namespace images {
namespace {

constexpr const char* kExpected = "expected JPEG, PNG, WebP, TIFF, BMP or PNM";

bool has(Bytes file, size_t at, std::string_view text) {
  return file.size() >= at + text.size() && std::memcmp(file.data() + at, text.data(), text.size()) == 0;
}

std::optional<Format> find_format(Bytes file) {
  using namespace std::string_view_literals;
  if (has(file, 0, "\xFF\xD8\xFF")) return Format::jpeg;
  if (has(file, 0, "\x89PNG\r\n\x1A\n")) return Format::png;
  if (has(file, 0, "RIFF") && has(file, 8, "WEBP")) return Format::webp;
  if (has(file, 0, "II*\0"sv) || has(file, 0, "MM\0*"sv)) return Format::tiff;
  if (has(file, 0, "BM")) return Format::bmp;
  if (file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6' && std::isspace(file[2]))
    return Format::pnm;
  return std::nullopt;
}

// Names common image formats that this library does not support.
const char* name_other_format(Bytes file) {
  using namespace std::string_view_literals;
  if (has(file, 0, "GIF8")) return "a GIF";
  if (has(file, 4, "ftypavif")) return "an AVIF";
  if (has(file, 4, "ftyp")) return "a HEIF or another file of ISO's media format";
  if (has(file, 4, "jP  ") || has(file, 0, "\xFF\x4F\xFF\x51")) return "a JPEG 2000";
  if (has(file, 0, "\xFF\x0A") || has(file, 4, "JXL ")) return "a JPEG XL";
  if (has(file, 0, "II+\0"sv) || has(file, 0, "MM\0+"sv)) return "a BigTIFF";
  return nullptr;
}

[[noreturn]] void throw_unknown_format(Bytes file, const std::string& path) {
  if (file.empty()) throw tenon::DataError(path + ": is empty; expected an image");
  const char* other = name_other_format(file);
  if (!other) throw tenon::DataError(path + ": is not an image in a supported format; " + kExpected + "; remove it");
  throw tenon::DataError(path + ": is " + other + "; " + kExpected + "; convert it");
}

ImageInfo read_header(Format format, Bytes file, const Limits& limits) {
  switch (format) {
    case Format::jpeg: return read_jpeg_header(file);
    case Format::png: return read_png_header(file);
    case Format::webp: return read_webp_header(file);
    case Format::tiff: return read_tiff_header(file, limits);
    case Format::bmp: return read_bmp_header(file);
    case Format::pnm: return read_pnm_header(file);
  }
  throw DamagedHeader("its format has no reader");
}

void check_limits(const ImageInfo& info, const std::string& path, const Limits& limits) {
  const int64_t pixels = int64_t{info.size.width} * info.size.height;
  const std::string size = std::to_string(info.size.width) + " x " + std::to_string(info.size.height) + " pixels";
  if (pixels > limits.max_pixels) {
    throw tenon::DataError(path + ": has " + size + ", " + std::to_string(pixels) + " in all; expected at most " +
                           std::to_string(limits.max_pixels) + "; raise max_pixels if this size is intended");
  }
  // OpenCV's limit, which only environment variables change.
  constexpr int kMaxSide = 1 << 20;
  constexpr int64_t kMaxCount = 1 << 30;
  const bool is_opencvs = info.format != Format::jpeg;
  if (is_opencvs && (info.size.width > kMaxSide || info.size.height > kMaxSide || pixels > kMaxCount)) {
    throw tenon::DataError(path + ": has " + size + "; expected at most " + std::to_string(kMaxSide) + " a side and " +
                           std::to_string(kMaxCount) + " in all; scale it down or split it");
  }
}

}  // namespace

cv::Size make_size(int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX) {
    throw DamagedHeader("its header gives a size of " + std::to_string(width) + " x " + std::to_string(height) +
                        " pixels; fetch the file again or remove it");
  }
  return {static_cast<int>(width), static_cast<int>(height)};
}

void check_data(const ByteReader& bytes, uint64_t at, uint64_t count) {
  if (at <= bytes.size() && count <= bytes.size() - at) return;
  throw DamagedHeader("is truncated after " + std::to_string(bytes.size()) +
                      " bytes, before the image ends; fetch the file again or remove it");
}

ImageInfo read_image_info(Bytes file, const std::string& path, const Limits& limits) {
  const std::optional<Format> format = find_format(file);
  if (!format) throw_unknown_format(file, path);
  if (check_completeness(file) == Completeness::truncated) {
    throw tenon::DataError(path + ": is truncated after " + std::to_string(file.size()) +
                           " bytes, before the image ends; fetch the file again or remove it");
  }
  ImageInfo info;
  try {
    info = read_header(*format, file, limits);
  } catch (const DamagedHeader& error) {
    throw tenon::DataError(path + ": " + error.what());
  }
  check_limits(info, path, limits);
  if (info.orientation >= 5) std::swap(info.size.width, info.size.height);
  return info;
}

}  // namespace images
