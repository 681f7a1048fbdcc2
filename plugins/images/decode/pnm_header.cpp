#include <cctype>

#include "plugins/images/decode/headers.h"

namespace images {
namespace {

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

}  // namespace

ImageInfo read_pnm_header(Bytes file) {
  const ByteReader bytes(file, std::endian::big);
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
  return {Format::pnm, make_size(width, height), kind == '3' || kind == '6' ? 3 : 1, bits, 1};
}

}  // namespace images
