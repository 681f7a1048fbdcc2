// Text that is shown while it is generated.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon::host {

// The number of bytes that do not change when tokens are added: the text without U+FFFD at its end, at most three,
// which may be the beginning of a UTF-8 character.
size_t count_complete(std::string_view text);

// Writes a growing text to standard output.
class TextStream {
 public:
  // `text`: the whole text so far. Writes its complete characters.
  void show(std::string_view text);
  // Writes what is missing of the whole text, and a line feed.
  void finish(std::string_view text);

 private:
  size_t written_ = 0;
};

}  // namespace tenon::host
