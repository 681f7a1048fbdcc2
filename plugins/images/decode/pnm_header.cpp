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
