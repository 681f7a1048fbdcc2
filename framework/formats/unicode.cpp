#include "framework/formats/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace formats {
namespace {

using namespace std::string_view_literals;

// Latin letters and digits have a zero byte in each character.
std::string_view guess_by_zeros(std::string_view text) {
  constexpr size_t kRead = 4096;
  text = text.substr(0, std::min(text.size(), kRead) / 4 * 4);
  size_t zeros[4] = {};
  for (size_t i = 0; i < text.size(); ++i) zeros[i % 4] += text[i] == '\0';
  const size_t characters = text.size() / 4;
  if (characters == 0) return "";
  const auto most = [&](size_t count) { return count * 10 >= characters * 9; };
  if (zeros[0] == 0 && most(zeros[1]) && most(zeros[2]) && most(zeros[3])) return "UTF-32LE";
  if (zeros[3] == 0 && most(zeros[0]) && most(zeros[1]) && most(zeros[2])) return "UTF-32BE";
  const auto many = [&](size_t count) { return count * 10 >= 2 * characters * 7; };
  if (zeros[0] + zeros[2] == 0 && many(zeros[1] + zeros[3])) return "UTF-16LE";
  if (zeros[1] + zeros[3] == 0 && many(zeros[0] + zeros[2])) return "UTF-16BE";
  return "";
}

std::string_view guess(std::string_view text) {
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv)) return "UTF-16";
  return guess_by_zeros(text);
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

std::string find_wide_encoding(std::string_view text) {
  const std::string encoding(guess(text));
  if (encoding.empty()) return "";
  return "is " + encoding + "; expected UTF-8; convert it with iconv -f " + encoding +
         " -t UTF-8, or save it in Excel as \"CSV UTF-8\"";
}

Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {0, 0};
  char32_t code = first & (0xFF >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return {0, 0};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_valid = code >= kSmallest[bytes] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return is_valid ? Character{code, bytes} : Character{0, 0};
}

size_t find_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t bytes = first_character(text.substr(at)).bytes;
    if (bytes == 0) break;
    at += bytes;
  }
  return at;
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
  const auto read_character = [&] {
    const Character next = first_character(text);
    text.remove_prefix(next.bytes);
    return next.code;
  };
  char32_t last = read_character();
  while (!text.empty()) {
    const char32_t next = read_character();
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
