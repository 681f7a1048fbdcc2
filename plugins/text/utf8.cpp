#include "plugins/text/utf8.h"

#include <cstdint>

namespace text {
namespace {

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// The number of bytes of a character with this first byte, or 0 if it cannot start a character.
size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// For three and four bytes, the second byte decides whether the form is overlong, a surrogate, or out of range.
bool is_second_allowed(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0: return second >= 0xA0;
    case 0xED: return second < 0xA0;
    case 0xF0: return second >= 0x90;
    case 0xF4: return second < 0x90;
    default: return true;
  }
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  for (size_t at = 0; at < text.size();) {
    const size_t length = length_of(byte(at));
    if (length == 0 || length > text.size() - at) return at;
    for (size_t i = 1; i < length; ++i)
      if (!is_continuation(byte(at + i))) return at;
    if (length > 2 && !is_second_allowed(byte(at), byte(at + 1))) return at;
    at += length;
  }
  return text.size();
}

}  // namespace text
