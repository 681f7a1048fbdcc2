#include "framework/config/toml/value.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "framework/formats/strings.h"

namespace tenon::config {
namespace {

std::string write(bool value) { return value ? "true" : "false"; }

std::string write(int64_t value) { return std::to_string(value); }

// Writes the fewest digits that are read back as the same number. The text is always a TOML float.
std::string write(double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string text(digits.data(), end);
  const bool looks_like_integer = text.find_first_of(".ein") == std::string::npos;  // e: exponent; i, n: inf and nan
  return looks_like_integer ? text + ".0" : text;
}

std::string escape(char letter) {
  switch (letter) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\t': return "\\t";
    case '\n': return "\\n";
    case '\f': return "\\f";
    case '\r': return "\\r";
  }
  const auto code = static_cast<unsigned char>(letter);
  if (code >= 0x20 && code != 0x7f) return {letter};
  constexpr const char* kDigits = "0123456789ABCDEF";
  return {'\\', 'u', '0', '0', kDigits[code >> 4], kDigits[code & 15]};
}

std::string write(const std::string& value) {
  std::string text = "\"";
  for (const char letter : value) text += escape(letter);
  return text + '"';
}

template <class T>
std::string write(const std::vector<T>& values) {
  return "[" + formats::join(values, ", ", [](const T& value) { return write(value); }) + "]";
}

bool is_bare(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '_' || letter == '-';
}

}  // namespace

std::string to_toml(const Value& value) {
  return std::visit([](const auto& held) { return write(held); }, value);
}

std::string to_toml_key(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), is_bare) ? key : write(key);
}

}  // namespace tenon::config
