#include "framework/formats/unicode.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

namespace formats {
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

constexpr std::array<std::string_view, 9> kBlanks = {" ",  "\t",       "\r",           "\n",          "\v",
                                                     "\f", "\xC2\xA0", "\xE3\x80\x80", "\xEF\xBB\xBF"};

struct Composition {
  char16_t first, second, composed;
};

constexpr Composition kCompositions[] = {
#include "framework/formats/compositions.inc"
};

// Unicode Standard, section 3.12: syllables of Hangul are composed of two or three letters by their numbers.
constexpr char32_t kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7, kSyllables = 0xAC00;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;

// Returns 0 if the characters have no composition.
char32_t compose(char32_t first, char32_t second) {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount)
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  const bool is_open =
      first - kSyllables < kLeadCount * kVowelCount * kTailCount && (first - kSyllables) % kTailCount == 0;
  if (is_open && second > kTails && second - kTails < kTailCount) return first + (second - kTails);
  const auto found = std::lower_bound(std::begin(kCompositions), std::end(kCompositions), std::pair(first, second),
                                      [](const Composition& entry, const std::pair<char32_t, char32_t>& key) {
                                        return std::pair<char32_t, char32_t>(entry.first, entry.second) < key;
                                      });
  const bool is_there = found != std::end(kCompositions) && found->first == first && found->second == second;
  return is_there ? found->composed : 0;
}

// REQUIRES: valid UTF-8.
char32_t read_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t length = length_of(first);
  char32_t character = length == 1 ? first : first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  text.remove_prefix(length);
  return character;
}

void append(char32_t character, std::string& text) {
  if (character < 0x80) {
    text += static_cast<char>(character);
    return;
  }
  const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  constexpr unsigned char kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kFirst[more] | character >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (character >> (6 * i) & 0x3F));
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

std::string_view trim(std::string_view text) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view blank : kBlanks) {
      if (text.starts_with(blank)) {
        text.remove_prefix(blank.size());
        again = true;
      }
      if (text.ends_with(blank)) {
        text.remove_suffix(blank.size());
        again = true;
      }
    }
  }
  return text;
}

std::string compose(std::string_view text) {
  const bool is_ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (is_ascii || find_invalid_utf8(text) != text.size()) return std::string(text);
  std::string composed;
  char32_t last = read_character(text);
  while (!text.empty()) {
    const char32_t next = read_character(text);
    if (const char32_t both = compose(last, next)) {
      last = both;
    } else {
      append(last, composed);
      last = next;
    }
  }
  append(last, composed);
  return composed;
}

}  // namespace formats
