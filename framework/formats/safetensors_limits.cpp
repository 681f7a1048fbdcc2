#include "framework/formats/safetensors_limits.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace formats {

namespace {

enum class Letter : uint8_t { blank, mark, other };

Letter classify(char letter) {
  switch (letter) {
    case ' ':
    case '\t':
    case '\r':
    case '\n': return Letter::blank;
    case '{':
    case '}':
    case '[':
    case ']':
    case ':':
    case ',':
    case '"': return Letter::mark;
    default: return Letter::other;
  }
}

// Returns the end of the string that starts after the quotation mark at `start`: the next unescaped quotation mark.
size_t find_end_of_text(std::string_view text, size_t start) {
  size_t end = start + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end, text.size());
}

}  // namespace

void check_header_lengths(std::string_view text) {
  constexpr size_t kMaxNumberLength = 1 << 12;  // bytes
  const auto check = [&](const char* what, size_t begin, size_t end, size_t longest) {
    if (end - begin <= longest) return;
    throw std::invalid_argument(std::string("the header has ") + what + " of more than " + std::to_string(longest) +
                                " bytes, at byte " + std::to_string(begin + 1));
  };
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const Letter kind = classify(text[i]);
    if (kind == Letter::mark) {
      if (text[begin] == '"') {
        i = find_end_of_text(text, begin);
        check("a text", begin + 1, i, kMaxMetadataTextLength);
      }
      ++i;
      continue;
    }
    while (i < text.size() && classify(text[i]) == kind) ++i;
    if (kind == Letter::blank)
      check("blanks", begin, i, kMaxMetadataTextLength);
    else
      check("a number", begin, i, kMaxNumberLength);
  }
}

}  // namespace formats
