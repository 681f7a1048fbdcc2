#include "framework/support/text/printable.h"

#include <algorithm>
#include <cstdint>

#include "framework/formats/unicode.h"
#include "framework/support/text/format.h"

namespace tenon::support {

using formats::is_continuation;

namespace {

constexpr size_t kMaxValue = 200;
constexpr size_t kMaxWord = 255;  // NAME_MAX: the name of a file is never shortened
constexpr size_t kMaxText = size_t{1} << 14;

// The number of bytes at the front of a text that is not UTF-8 that one U+FFFD stands for: the longest beginning of a
// character, or one byte (The Unicode Standard, section 3.9).
size_t count_invalid_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() == 1) return 1;
  const uint8_t least = byte(0) == 0xE0 ? 0xA0 : byte(0) == 0xF0 ? 0x90 : 0x80;
  const uint8_t most = byte(0) == 0xED ? 0x9F : byte(0) == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 1;
  const size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  size_t taken = 2;
  while (taken < bytes && taken < text.size() && is_continuation(text[taken])) ++taken;
  return taken;
}

bool is_control(uint32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
}

// Directional marks, embeddings and isolates (Unicode Bidirectional Algorithm, UAX 9), separators of lines and
// paragraphs, and characters without width.
bool hides_text(uint32_t code) {
  return (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0x061C || code == 0xFEFF;
}

// The beginning and the end of a text, of `head` and `tail` bytes or a few less, so that no character is cut.
std::string leave_out_middle(std::string_view text, size_t head, size_t tail) {
  while (is_continuation(text[head])) --head;
  size_t end = text.size() - tail;
  while (end < text.size() && is_continuation(text[end])) ++end;
  return fmt::format("{}[...{} bytes...]{}", text.substr(0, head), end - head, text.substr(end));
}

// ASCII alone: some languages write sentences without spaces.
bool is_in_word(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
         letter == '_' || letter == '-' || letter == '.' || letter == '+' || letter == '=';
}

// Shortens keys, names and options, which messages show without quotes.
std::string shorten_words(std::string_view text) {
  std::string shortened;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_in_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    if (word.size() > kMaxWord)
      shortened += leave_out_middle(word, kMaxValue / 2, kMaxValue / 2);
    else
      shortened += word;
    if (end < text.size()) shortened += text[end++];
    at = end;
  }
  return shortened;
}

std::string shorten_values(std::string_view text) {
  std::string shortened;
  for (bool is_value = false;; is_value = !is_value) {
    const size_t quote = text.find('"');
    const std::string_view part = text.substr(0, quote);
    // A value ends with a quote. A quote without another one begins no value.
    if (is_value && quote != std::string_view::npos && part.size() > kMaxValue)
      shortened += leave_out_middle(part, kMaxValue / 2, kMaxValue / 2);
    else
      shortened += shorten_words(part);
    if (quote == std::string_view::npos) return shortened;
    shortened += '"';
    text.remove_prefix(quote + 1);
  }
}

std::string indent_lines(std::string_view text) {
  std::string indented;
  for (size_t i = 0; i < text.size(); ++i) {
    indented += text[i];
    const bool begins_line = text[i] == '\n' && i + 1 < text.size();
    if (begins_line && text[i + 1] != ' ' && text[i + 1] != '\n' && text[i + 1] != '\t') indented += "  ";
  }
  return indented;
}

}  // namespace

bool is_utf8(std::string_view text) { return formats::find_invalid_utf8(text) == text.size(); }

std::string replace_invalid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const formats::Character next = formats::first_character(text);
    if (next.bytes > 0)
      valid += text.substr(0, next.bytes);
    else
      valid += "\xEF\xBF\xBD";
    text.remove_prefix(next.bytes > 0 ? next.bytes : count_invalid_bytes(text));
  }
  return valid;
}

std::string escape_control_characters(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const formats::Character next = formats::first_character(text);
    if (next.bytes == 0)
      escaped += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[0]));
    else if (is_control(next.code) || hides_text(next.code))
      escaped += fmt::format("\\u{:04x}", static_cast<uint32_t>(next.code));
    else
      escaped += text.substr(0, next.bytes);
    text.remove_prefix(std::max<size_t>(next.bytes, 1));
  }
  return escaped;
}

std::string printable(std::string_view text) {
  std::string shown = shorten_values(escape_control_characters(text));
  if (shown.size() > kMaxText) shown = leave_out_middle(shown, kMaxText * 3 / 4, kMaxText / 4);
  return indent_lines(shown);
}

}  // namespace tenon::support
