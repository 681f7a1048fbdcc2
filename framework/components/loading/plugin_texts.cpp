#include "framework/components/loading/plugin_texts.h"

#include <algorithm>

namespace tenon::components {

bool is_id(std::string_view text) {
  const auto is_lower = [](char letter) { return letter >= 'a' && letter <= 'z'; };
  const auto fits = [&](char letter) {
    return is_lower(letter) || (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
  };
  return !text.empty() && is_lower(text[0]) && std::all_of(text.begin(), text.end(), fits);
}

std::optional<std::string> find_control_character(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = static_cast<unsigned char>(text[i]);
    if (code == 0xC2 && i + 1 < text.size())
      code = static_cast<unsigned char>(text[i + 1]);  // two bytes: U+0080 and above
    else if (code >= 0x80)
      continue;
    const bool is_control = code < 0x20 ? code != '\n' && code != '\t' : code >= 0x7F && code < 0xA0;
    if (is_control) return std::string("U+00") + "0123456789ABCDEF"[code >> 4] + "0123456789ABCDEF"[code & 15];
  }
  return std::nullopt;
}

}  // namespace tenon::components
