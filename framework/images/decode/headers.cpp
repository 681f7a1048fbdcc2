#include "framework/images/decode/headers.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

#include "framework/images/decode/tiff_tags.h"

namespace images {
namespace {

// Of PNG.
constexpr size_t kSignature = 8;
constexpr size_t kAroundData = 12;  // length, type, checksum

bool is_chunk(const ByteReader& bytes, size_t at, const char* name) {
  return std::memcmp(bytes.part(at, 4).data(), name, 4) == 0;
}

bool is_complete_jpeg(Bytes file) {
  size_t components = 0;
  size_t at = find_marker(file, 2);
  while (at < file.size() && file[at] != jpeg::kEndOfImage) {
    if (at + 2 >= file.size()) return false;
    const size_t length = size_t{file[at + 1]} << 8 | file[at + 2];  // includes its two bytes
    // Progressive frames are excluded, because they have many scans.
    if ((file[at] == 0xC0 || file[at] == 0xC1) && at + 8 < file.size()) components = file[at + 8];
    // A scan of all components is the only scan of its frame, so only coded data and the end marker follow it. Coded
    // data never contain that marker, so most files need no walk through them.
    const bool is_only_scan = file[at] == jpeg::kStartOfScan && at + 3 < file.size() && file[at + 3] == components;
    if (is_only_scan && at + 1 + length + 2 <= file.size() && file[file.size() - 2] == 0xFF &&
        file.back() == jpeg::kEndOfImage) {
      return true;
    }
    at = find_marker(file, at + 1 + length);
  }
  return at < file.size();
}

bool is_complete_png(Bytes file) {
  const ByteReader bytes(file, std::endian::big);
  size_t at = kSignature;
  while (file.size() - at >= kAroundData) {
    const size_t length = bytes.u32(at);
    if (is_chunk(bytes, at + 4, "IEND")) return true;
    if (length > file.size() - at - kAroundData) return false;
    at += kAroundData + length;
  }
  return false;
}

bool is_complete_webp(Bytes file) { return file.size() - 8 >= ByteReader(file, std::endian::little).u32(4); }

// `segment` is the content after the length.
void read_frame(Bytes segment, uint8_t marker, ImageInfo& info) {
  // SOF0 to SOF2 and their arithmetic-coded variants are supported. The others are lossless or hierarchical.
  if (marker != 0xC0 && marker != 0xC1 && marker != 0xC2 && marker != 0xC9 && marker != 0xCA) {
    throw DamagedHeader("is a lossless or hierarchical JPEG; expected a sequential or progressive one; convert it");
  }
  const ByteReader frame(segment, std::endian::big);
  info.bits = frame.u8(0);
  info.channels = frame.u8(5);
  info.size = make_size(frame.u16(3), frame.u16(1));
  if (info.bits != 8) {
    throw DamagedHeader("is a JPEG of " + std::to_string(info.bits) + " bits; expected 8; convert it");
  }
  if (info.channels != 1 && info.channels != 3 && info.channels != 4) {
    throw DamagedHeader("is a JPEG of " + std::to_string(info.channels) +
                        " components; expected 1, 3 or 4; convert it");
  }
}

bool is_exif(Bytes segment) { return segment.size() > 6 && std::memcmp(segment.data(), "Exif\0", 6) == 0; }

int channels_of(uint8_t colour_type) {
  switch (colour_type) {
    case 0:            // grey
    case 3: return 1;  // palette
    case 2: return 3;  // colour
    case 4: return 2;  // grey with alpha
    case 6: return 4;  // colour with alpha
    default: throw DamagedHeader("its header gives the colour type " + std::to_string(colour_type));
  }
}

// Returns the content of the first chunk of this type, or none. eXIf may come before or after the pixels.
Bytes find_chunk(const ByteReader& bytes, const char* type) {
  for (size_t at = kSignature; at + kAroundData <= bytes.size();) {
    const size_t length = bytes.u32(at);
    if (length > bytes.size() - at - kAroundData) break;
    if (is_chunk(bytes, at + 4, type)) return bytes.part(at + 8, length);
    at += kAroundData + length;
  }
  return {};
}

// WebP: https://developers.google.com/speed/webp/docs/riff_container, RFC 6386 (VP8) and the lossless format.
constexpr size_t kFirstChunk = 12;
constexpr size_t kContent = 20;  // offset of the first chunk's content

int find_webp_orientation(const ByteReader& bytes) {
  for (size_t at = kFirstChunk; at + 8 <= bytes.size();) {
    const size_t length = bytes.u32(at + 4);
    if (length > bytes.size() - at - 8) break;
    if (is_chunk(bytes, at, "EXIF")) {
      const Bytes exif = bytes.part(at + 8, length);
      return read_exif_orientation(is_exif(exif) ? exif.subspan(6) : exif);
    }
    at += 8 + length + length % 2;
  }
  return 1;
}

ImageInfo read_extended(const ByteReader& bytes) {
  constexpr uint8_t kAnimation = 0x02;
  constexpr uint8_t kExif = 0x08;
  constexpr uint8_t kAlpha = 0x10;
  const uint8_t flags = bytes.u8(kContent);
  if (flags & kAnimation) throw DamagedHeader("is an animated WebP; expected a single image; convert it");
  const cv::Size size = make_size(int64_t{bytes.u24(kContent + 4)} + 1, int64_t{bytes.u24(kContent + 7)} + 1);
  const bool has_alpha = flags & kAlpha;
  return {Format::webp, size, has_alpha ? 4 : 3, 8, flags & kExif ? find_webp_orientation(bytes) : 1, has_alpha};
}

constexpr size_t kOffset = 10;    // of the pixels
constexpr size_t kInfo = 14;      // after the file header
constexpr uint32_t kOldest = 12;  // the header of OS/2, with 16-bit width and height
constexpr uint32_t kBitFields = 3;

// Returns the next number after white space and comments.
int64_t read_number(const ByteReader& bytes, size_t& at) {
  while (std::isspace(bytes.u8(at)) || bytes.u8(at) == '#') {
    if (bytes.u8(at) == '#') {
      while (bytes.u8(at) != '\n') ++at;
    } else {
      ++at;
    }
  }
  int64_t number = -1;
  for (; at < bytes.size() && std::isdigit(bytes.u8(at)); ++at) {
    number = (number < 0 ? 0 : number) * 10 + (bytes.u8(at) - '0');
    if (number > INT32_MAX) throw DamagedHeader("a number of its header is too large");
  }
  if (number < 0) throw DamagedHeader("its header lacks a number");
  return number;
}

// Returns whether the text from `at` on has `count` numbers, of one digit each if `is_bitmap`.
bool has_numbers(const ByteReader& bytes, size_t at, uint64_t count, bool is_bitmap) {
  bool is_in_number = false, is_in_comment = false;
  for (; at < bytes.size() && count > 0; ++at) {
    const uint8_t letter = bytes.u8(at);
    if (is_in_comment) {
      is_in_comment = letter != '\n' && letter != '\r';
    } else if (std::isdigit(letter)) {
      if (!is_in_number || is_bitmap) --count;
      is_in_number = true;
    } else if (letter == '#' || std::isspace(letter)) {
      is_in_comment = letter == '#';
      is_in_number = false;
    } else {
      throw DamagedHeader("is damaged: it has a character that is no digit at byte " + std::to_string(at) +
                          "; fetch the file again or remove it");
    }
  }
  return count == 0;
}

struct Header {
  ImageInfo info;
  bool is_text;
  size_t end;
};

Header read_header(const ByteReader& bytes) {
  const uint8_t kind = bytes.u8(1);  // 1 to 3: bits, grey and colour as text; 4 to 6: the same in binary
  size_t at = 2;
  const int64_t width = read_number(bytes, at);
  const int64_t height = read_number(bytes, at);
  const bool is_bitmap = kind == '1' || kind == '4';
  const int64_t most = is_bitmap ? 1 : read_number(bytes, at);
  if (!is_bitmap && most != 255 && most != 65535) {
    throw DamagedHeader("is a PNM with the maximum value " + std::to_string(most) +
                        "; expected 255 or 65535; convert it");
  }
  const int bits = is_bitmap ? 1 : most == 255 ? 8 : 16;
  const int channels = kind == '3' || kind == '6' ? 3 : 1;
  return {{Format::pnm, make_size(width, height), channels, bits, 1}, kind <= '3', at};
}

}  // namespace

size_t find_marker(Bytes file, size_t at) {
  while (at < file.size()) {
    const void* found = std::memchr(file.data() + at, 0xFF, file.size() - at);
    if (!found) break;
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - file.data()) + 1;
    // Within a scan, 00 is a stuffed data byte, D0 to D7 restart the entropy coder, and FF is a fill byte.
    if (at < file.size() && file[at] != 0x00 && file[at] != 0xFF && (file[at] < 0xD0 || file[at] > 0xD7)) return at;
  }
  return file.size();
}

Completeness check_completeness(Bytes file) {
  const std::optional<Format> format = find_format(file);
  bool complete = false;
  if (format == Format::jpeg) {
    complete = is_complete_jpeg(file);
  } else if (format == Format::png) {
    complete = is_complete_png(file);
  } else if (format == Format::webp) {
    complete = is_complete_webp(file);
  } else {
    return Completeness::unknown_format;
  }
  return complete ? Completeness::complete : Completeness::truncated;
}

ImageInfo read_jpeg_header(Bytes file) {
  const ByteReader bytes(file, std::endian::big);
  ImageInfo info = {Format::jpeg, {}, 0, 0, 1};
  bool has_exif = false;
  for (size_t at = find_marker(file, 2); at < file.size();) {
    const uint8_t marker = file[at];
    if (marker == jpeg::kStartOfScan || marker == jpeg::kEndOfImage) break;
    const size_t length = bytes.u16(at + 1);  // includes its two bytes
    if (length < 2) throw DamagedHeader("a segment of its header has the length " + std::to_string(length));
    const Bytes segment = bytes.part(at + 3, length - 2);
    if (jpeg::is_start_of_frame(marker)) read_frame(segment, marker, info);
    if (marker == jpeg::kApp1 && !has_exif && is_exif(segment)) {
      info.orientation = read_exif_orientation(segment.subspan(6));
      has_exif = true;
    }
    at = find_marker(file, at + 1 + length);
  }
  if (info.channels == 0) throw DamagedHeader("its header gives no size");
  return info;
}

ImageInfo read_png_header(Bytes file) {
  const ByteReader bytes(file, std::endian::big);
  if (bytes.u32(kSignature) != 13 || !is_chunk(bytes, kSignature + 4, "IHDR"))
    throw DamagedHeader("its first chunk is not a header");
  const int bits = bytes.u8(24);
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16) {
    throw DamagedHeader("its header gives " + std::to_string(bits) + " bits");
  }
  const cv::Size size = make_size(bytes.u32(16), bytes.u32(20));
  const int channels = channels_of(bytes.u8(25));
  const bool has_alpha = channels == 2 || channels == 4 || !find_chunk(bytes, "tRNS").empty();
  const Bytes animation = find_chunk(bytes, "acTL");  // begins with the number of frames
  const bool has_more_frames = animation.size() >= 4 && ByteReader(animation, std::endian::big).u32(0) > 1;
  const int orientation = read_exif_orientation(find_chunk(bytes, "eXIf"));
  return {Format::png, size, channels, bits, orientation, has_alpha, has_more_frames};
}

ImageInfo read_webp_header(Bytes file) {
  const ByteReader bytes(file, std::endian::little);
  if (is_chunk(bytes, kFirstChunk, "VP8X")) return read_extended(bytes);
  if (is_chunk(bytes, kFirstChunk, "VP8L") && bytes.u8(kContent) == 0x2F) {
    const uint32_t fields = bytes.u32(kContent + 1);  // 14 bits of width - 1, 14 of height - 1, whether alpha is used
    const cv::Size size = make_size((fields & 0x3FFF) + 1, (fields >> 14 & 0x3FFF) + 1);
    const bool has_alpha = fields >> 28 & 1;
    return {Format::webp, size, has_alpha ? 4 : 3, 8, 1, has_alpha};
  }
  if (is_chunk(bytes, kFirstChunk, "VP8 ") && bytes.u24(kContent + 3) == 0x2A019D) {
    return {Format::webp, make_size(bytes.u16(kContent + 6) & 0x3FFF, bytes.u16(kContent + 8) & 0x3FFF), 3, 8, 1};
  }
  throw DamagedHeader("its header is not a WebP header");
}

ImageInfo read_bmp_header(Bytes file) {
  const ByteReader bytes(file, std::endian::little);
  const uint32_t header = bytes.u32(kInfo);
  const bool is_oldest = header == kOldest;
  if (!is_oldest && header < 40) throw DamagedHeader("its header has the length " + std::to_string(header));
  // A negative height means that the first row is the top row.
  const int64_t width = is_oldest ? bytes.u16(kInfo + 4) : static_cast<int32_t>(bytes.u32(kInfo + 4));
  const int64_t height = is_oldest ? bytes.u16(kInfo + 6) : std::llabs(static_cast<int32_t>(bytes.u32(kInfo + 8)));
  const int bits_per_pixel = bytes.u16(is_oldest ? kInfo + 10 : kInfo + 14);
  const int channels = bits_per_pixel <= 8 ? 1 : bits_per_pixel == 32 ? 4 : 3;
  return {Format::bmp, make_size(width, height), channels, bits_per_pixel < 8 ? bits_per_pixel : 8, 1};
}

void check_bmp_data(Bytes file, const ImageInfo& info) {
  const ByteReader bytes(file, std::endian::little);
  const bool is_oldest = bytes.u32(kInfo) == kOldest;
  const uint64_t bits_per_pixel = bytes.u16(is_oldest ? kInfo + 10 : kInfo + 14);
  const uint32_t compression = is_oldest ? 0 : bytes.u32(kInfo + 16);
  if (compression > kBitFields)
    throw DamagedHeader("is damaged: its header gives the compression " + std::to_string(compression) +
                        "; expected at most " + std::to_string(kBitFields) + "; fetch the file again or convert it");
  if (bits_per_pixel <= 8) {
    const uint64_t colours = is_oldest ? 0 : bytes.u32(kInfo + 32);
    if (colours > 256)
      throw DamagedHeader("is damaged: its palette has " + std::to_string(colours) +
                          " colours; expected at most 256; fetch the file again or remove it");
    const uint64_t entries = colours == 0 ? uint64_t{1} << bits_per_pixel : colours;
    check_data(bytes, kInfo + uint64_t{bytes.u32(kInfo)}, entries * (is_oldest ? 3 : 4));
  }
  const bool is_run_length_coded = compression == 1 || compression == 2;
  if (is_run_length_coded) return;  // the decoder finds the end of such data
  const uint64_t row = (static_cast<uint64_t>(info.size.width) * bits_per_pixel + 31) / 32 * 4;
  check_data(bytes, bytes.u32(kOffset), row * static_cast<uint64_t>(info.size.height));
}

ImageInfo read_pnm_header(Bytes file) { return read_header({file, std::endian::big}).info; }

void check_pnm_data(Bytes file) {
  const ByteReader bytes(file, std::endian::big);
  const auto& [info, is_text, end] = read_header(bytes);
  const uint64_t row = static_cast<uint64_t>(info.size.width) * static_cast<uint64_t>(info.channels);
  const auto rows = static_cast<uint64_t>(info.size.height);
  if (!is_text) return check_data(bytes, end + 1, (row * static_cast<uint64_t>(info.bits) + 7) / 8 * rows);
  if (!has_numbers(bytes, end, row * rows, info.bits == 1)) check_data(bytes, bytes.size(), 1);
}

}  // namespace images
