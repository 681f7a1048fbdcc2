// Names in lower_snake_case.
#pragma once

#include <algorithm>
#include <string_view>

namespace formats {

// Whether the text has lower-case letters, digits and underscores only, and begins with a letter.
inline bool is_lower_snake_case(std::string_view text) {
  const auto fits = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  };
  return !text.empty() && text[0] >= 'a' && text[0] <= 'z' && std::ranges::all_of(text, fits);
}

}  // namespace formats
