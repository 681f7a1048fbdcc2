#include "framework/images/decode/image_info.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>

#include <tenon/error.hpp>

#include "framework/formats/regular_file.h"
#include "framework/images/decode/headers.h"

namespace images {
namespace {

constexpr const char* kExpected = "expected JPEG, PNG, WebP, TIFF, BMP or PNM";

bool has(Bytes file, size_t at, std::string_view text) {
  return file.size() >= at + text.size() && std::memcmp(file.data() + at, text.data(), text.size()) == 0;
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
  if (has(file, 0, "8BPS")) return "a Photoshop file";
  if (has(file, 128, "DICM")) return "a DICOM file";
  if (has(file, 0, "P7\n")) return "a PAM";
  return nullptr;
}

bool is_blank(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

// The start of a text without blanks and a byte order mark, in lower case.
std::string read_start(Bytes file) {
  constexpr size_t kMost = 64;
  size_t at = has(file, 0, "\xEF\xBB\xBF") ? 3 : 0;
  while (at < file.size() && is_blank(file[at])) ++at;
  std::string start(file.begin() + static_cast<ptrdiff_t>(at),
                    file.begin() + static_cast<ptrdiff_t>(std::min(at + kMost, file.size())));
  for (char& c : start) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return start;
}

// Names what else a file with the name of an image often is.
const char* name_other_content(Bytes file) {
  const std::string start = read_start(file);
  const auto starts = [&](std::string_view text) { return start.starts_with(text); };
  if (starts("<!doctype html") || starts("<html") || starts("<head") || starts("<body"))
    return "an HTML page, such as the error page of a download";
  if (starts("<svg") || (starts("<?xml") && start.find("<svg") != std::string::npos)) return "an SVG";
  if (starts("<?xml")) return "XML, such as the error message of a download";
  if (starts("version https://git-lfs")) return "a pointer of Git LFS; git lfs pull fetches the image";
  if (starts("%pdf-")) return "a PDF";
  if (has(file, 0, "PK\x03\x04")) return "a ZIP archive";
  if (has(file, 0, "\x1F\x8B")) return "a gzip file";
  if (std::all_of(file.begin(), file.end(), [](uint8_t byte) { return byte == 0; }))
    return "zeros only, as after a copy that was interrupted";
  const auto is_printable = [](char c) { return (c >= ' ' && c <= '~') || is_blank(static_cast<uint8_t>(c)); };
  if (!start.empty() && std::all_of(start.begin(), start.end(), is_printable)) return "a text";
  return nullptr;
}

[[noreturn]] void throw_unknown_format(Bytes file, const std::string& path) {
  if (file.empty()) throw tenon::DataError(path + ": is empty; expected an image");
  if (const char* other = name_other_format(file))
    throw tenon::DataError(path + ": is " + other + "; " + kExpected + "; convert it");
  if (const char* other = name_other_content(file))
    throw tenon::DataError(path + ": is no image but " + other + "; " + kExpected +
                           "; fetch the image again or remove the file");
  throw tenon::DataError(path + ": is not an image in a supported format; " + kExpected + "; remove it");
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

// OpenCV counts the bytes of an encoded image with an int.
void read_file(const std::string& path, std::vector<uint8_t>& bytes) {
  formats::read_whole(path, "an image", bytes, INT_MAX);
}

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
  ImageInfo info;
  try {
    if (check_completeness(file) == Completeness::truncated) check_data({file, std::endian::big}, file.size(), 1);
    info = read_header(*format, file, limits);
  } catch (const DamagedHeader& error) {
    throw tenon::DataError(path + ": " + error.what());
  }
  check_limits(info, path, limits);
  if (info.orientation >= 5) std::swap(info.size.width, info.size.height);
  return info;
}

}  // namespace images
