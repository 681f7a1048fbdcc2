// Limits the depth of JSON that is not trusted, before it is parsed.
#pragma once

#include <cstddef>
#include <string_view>

namespace formats {

// Whether objects and lists nest deeper than `most` levels. Functions that copy or print a value call themselves, so a
// deep one would overflow the stack. A callback of nlohmann's parser could limit the depth, too, but with a callback
// the parser visits all earlier elements of a list at the end of each element: the time grows with the square of the
// size.
inline bool is_nested_deeper(std::string_view text, int most) {
  int depth = 0;
  bool is_in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') is_in_string = !is_in_string;
    if (is_in_string && c == '\\') ++i;
    if (is_in_string) continue;
    if ((c == '[' || c == '{') && ++depth > most) return true;
    if (c == ']' || c == '}') --depth;
  }
  return false;
}

}  // namespace formats
