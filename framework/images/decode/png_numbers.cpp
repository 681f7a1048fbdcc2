#include "framework/images/decode/png_numbers.h"

#include <zlib.h>

#include <array>
#include <cstring>

#include <tenon/error.hpp>

#include "framework/images/decode/headers.h"

namespace images {
namespace {

// PNG (W3C recommendation, second edition, 2003), sections 5 and 11: a signature of 8 bytes, then chunks of length,
// type, content and CRC. The first chunk is IHDR with width, height, bits and colour type.
constexpr size_t kPngSignature = 8;
constexpr size_t kAroundContent = 12;
constexpr size_t kHeaderContent = 13;
constexpr size_t kColourType = kPngSignature + 8 + 9;
constexpr uint8_t kGrey = 0;
constexpr uint8_t kPalette = 3;

// CRC-32 as defined by PNG, section 15.
uint32_t crc_of(Bytes bytes) { return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size())); }

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
  const ByteReader bytes(file, std::endian::big);
  grey.assign(file.begin(), file.begin() + kPngSignature);
  size_t at = kPngSignature;
  while (at + kAroundContent <= file.size()) {
    const size_t length = bytes.u32(at);
    if (length > file.size() - at - kAroundContent) break;  // the decoder reports the missing rest
    const size_t end = at + kAroundContent + length;
    const bool is_header = at == kPngSignature;
    if ((is_header || belongs_to_palette(&file[at + 4])) &&
        crc_of(file.subspan(at + 4, 4 + length)) != bytes.u32(end - 4)) {
      throw tenon::DataError(path + ": is damaged, the checksum of its " + (is_header ? "header" : "palette") +
                             " is wrong; fetch the file again or remove it");
    }
    if (!belongs_to_palette(&file[at + 4]))
      grey.insert(grey.end(), file.begin() + static_cast<ptrdiff_t>(at), file.begin() + static_cast<ptrdiff_t>(end));
    at = end;
  }
  grey[kColourType] = kGrey;
  constexpr size_t kHeader = kPngSignature + 4;
  write_number(crc_of(Bytes(grey).subspan(kHeader, 4 + kHeaderContent)), &grey[kHeader + 4 + kHeaderContent]);
}

void check_kind(const ImageInfo& info, const std::string& path) {
  const bool is_mask = info.format == Format::png && info.channels == 1 && info.bits <= 8;
  if (is_mask) return;
  const std::string found = info.format != Format::png ? "is not a PNG"
                                                       : "has " + std::to_string(info.channels) + " channels of " +
                                                             std::to_string(info.bits) + " bits";
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

cv::Mat& decode_numbers(Bytes file, const ImageInfo& info, const std::string& path, NumberBuffers& buffers) {
  check_kind(info, path);
  if (file[kColourType] == kPalette) {
    make_grey(file, path, buffers.grey);
    file = buffers.grey;
  }
  take_numbers(decode_image(file, info, path, buffers.decoder), info.bits, buffers.numbers);
  return buffers.numbers;
}

}  // namespace images
