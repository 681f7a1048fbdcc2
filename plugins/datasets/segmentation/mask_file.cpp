#include "plugins/datasets/segmentation/mask_file.h"

#include <array>
#include <cstring>

#include <tenon/error.hpp>

#include "plugins/images/decode/read_file.h"

namespace segmentation {
namespace {

using Bytes = images::Bytes;

// PNG (W3C recommendation, second edition, 2003), sections 5 and 11: a signature of 8 bytes, then chunks of length,
// type, content and CRC. The first chunk is IHDR with width, height, bits and colour type.
constexpr size_t kSignature = 8;
constexpr size_t kAroundContent = 12;
constexpr size_t kHeaderContent = 13;
constexpr size_t kColourType = kSignature + 8 + 9;
constexpr uint8_t kGrey = 0;
constexpr uint8_t kPalette = 3;

// CRC-32 as defined by PNG, section 15. It is only used for the few bytes of a header.
uint32_t crc_of(Bytes bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

uint32_t read_number(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void write_number(uint32_t number, uint8_t* bytes) {
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(number >> (24 - 8 * i));
}

bool belongs_to_palette(const uint8_t* type) {
  constexpr std::array<const char*, 5> kTypes = {"PLTE", "tRNS", "hIST", "bKGD", "sBIT"};
  for (const char* known : kTypes) {
    if (std::memcmp(type, known, 4) == 0) return true;
  }
  return false;
}

// A palette image stores its pixels like a grey image with as many bits. So this function rewrites the header to that
// of a grey image. A decoder then returns the indices. It would otherwise return colours, and several indices may have
// the same colour. Throws tenon::DataError if a chunk that this changes or drops was damaged, because the decoder no
// longer sees its checksum.
void make_grey(Bytes file, const std::string& path, std::vector<uint8_t>& grey) {
  grey.assign(file.begin(), file.begin() + kSignature);
  size_t at = kSignature;
  while (at + kAroundContent <= file.size()) {
    const size_t length = read_number(&file[at]);
    if (length > file.size() - at - kAroundContent) break;  // the decoder reports the missing rest
    const size_t end = at + kAroundContent + length;
    const bool is_header = at == kSignature;
    if ((is_header || belongs_to_palette(&file[at + 4])) &&
        crc_of(file.subspan(at + 4, 4 + length)) != read_number(&file[end - 4])) {
      throw tenon::DataError(path + ": is damaged, the checksum of its " + (is_header ? "header" : "palette") +
                             " is wrong; fetch the file again or remove it");
    }
    if (!belongs_to_palette(&file[at + 4]))
      grey.insert(grey.end(), file.begin() + static_cast<ptrdiff_t>(at), file.begin() + static_cast<ptrdiff_t>(end));
    at = end;
  }
  grey[kColourType] = kGrey;
  constexpr size_t kHeader = kSignature + 4;
  write_number(crc_of(Bytes(grey).subspan(kHeader, 4 + kHeaderContent)), &grey[kHeader + 4 + kHeaderContent]);
}

void check_kind(const images::ImageInfo& info, const std::string& path) {
  const bool is_mask = info.format == images::Format::png && info.channels == 1 && info.bits <= 8;
  if (is_mask) return;
  const std::string found =
      info.format != images::Format::png
          ? "is not a PNG"
          : "has " + std::to_string(info.channels) + " channels of " + std::to_string(info.bits) + " bits";
  throw tenon::DataError(
      path + ": " + found +
      "; expected a mask: a grey or palette PNG that stores class numbers in at most 8 bits; convert it");
}

// The decoder spreads grey levels of fewer than 8 bits over 0 to 255. This restores the numbers.
void take_numbers(const cv::Mat& rgb, int bits, cv::Mat& numbers) {
  const int spread = 255 / ((1 << bits) - 1);
  numbers.create(rgb.size(), CV_8UC1);
  for (int y = 0; y < rgb.rows; ++y) {
    const uint8_t* from = rgb.ptr<uint8_t>(y);
    uint8_t* to = numbers.ptr<uint8_t>(y);
    for (int x = 0; x < rgb.cols; ++x) to[x] = static_cast<uint8_t>(from[3 * static_cast<size_t>(x)] / spread);
  }
}

}  // namespace

cv::Mat& read_mask(const std::string& path, const images::Limits& limits, MaskBuffers& buffers) {
  images::read_file(path, buffers.file);
  const images::ImageInfo info = images::read_image_info(buffers.file, path, limits);
  check_kind(info, path);
  buffers.orientation = info.orientation;
  Bytes file = buffers.file;
  if (file[kColourType] == kPalette) {
    make_grey(file, path, buffers.grey);
    file = buffers.grey;
  }
  take_numbers(images::decode_image(file, info, path, buffers.decoder), info.bits, buffers.numbers);
  return buffers.numbers;
}

}  // namespace segmentation
