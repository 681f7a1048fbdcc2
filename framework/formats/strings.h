// Operations on texts that the standard library lacks.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace formats {

// Returns the text with lower-case ASCII letters.
inline std::string to_lower(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

inline std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Returns the number that the whole text is, as std::from_chars reads it. None for any other text, and for a number
// that the type cannot hold. `format`: the base of whole numbers, 10 if left out.
template <class Number, class... Format>
std::optional<Number> parse_number(std::string_view text, Format... format) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, format...);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// The parts between separators: one more than there are separators.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

struct ToText {
  std::string_view operator()(std::string_view text) const { return text; }
  std::string operator()(int64_t number) const { return std::to_string(number); }
};

// Returns "a, b, c" for texts or whole numbers. `to_text`: a function or member of other items that is a text.
template <class Items, class Convert = ToText>
std::string join(const Items& items, std::string_view separator = ", ", const Convert& to_text = {}) {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) text += separator;
    is_first = false;
    text += std::invoke(to_text, item);
  }
  return text;
}

// Returns `"cat", "dog"`.
inline std::string quote_all(const std::vector<std::string>& names) {
  return names.empty() ? "" : '"' + join(names, "\", \"") + '"';
}

}  // namespace formats
