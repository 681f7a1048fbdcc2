// Random texts that try to control a terminal, to forge lines, to escape from quotes or to insert markup.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>

namespace tenon {

// One piece: raw bytes, mostly invalid as UTF-8, or an attack, or text that is fine.
inline std::string make_piece(std::mt19937& random) {
  static const std::array<const char*, 32> kPieces = {"\x1b[2J",
                                                      "\x1b]0;title\x07",
                                                      "\x1b",
                                                      "\r",
                                                      "\r\n",
                                                      "\n",
                                                      "\n\n",
                                                      "\t",
                                                      "\b\b",
                                                      "\x7f",
                                                      "\v",
                                                      "\f",
                                                      "\xC2\x9B"
                                                      "31m",           // CSI as one character of C1
                                                      "\xC2\x85",      // next line
                                                      "\xE2\x80\xA8",  // line separator
                                                      "\xE2\x80\xA9",  // paragraph separator
                                                      "\xE2\x80\xAE",  // right-to-left override
                                                      "\xE2\x81\xA6",  // left-to-right isolate
                                                      "\xD8\x9C",      // Arabic letter mark
                                                      "\xEF\xBB\xBF",  // byte order mark
                                                      "\nerror: forged",
                                                      "\n2026-01-01 00:00:00.000 error: forged",
                                                      "<script>alert(1)</script>",
                                                      "&lt;",
                                                      "\"",
                                                      "'",
                                                      ",",
                                                      "\xC0\xAF",          // overlong
                                                      "\xED\xA0\x80",      // a surrogate
                                                      "\xF4\x90\x80\x80",  // above U+10FFFF
                                                      "gr\xC3\xB6\xC3\x9F"
                                                      "er",
                                                      "\xE7\x94\xBB \xF0\x9F\x8C\xB3"};
  if (random() % 3 != 0) return kPieces[random() % kPieces.size()];
  std::string bytes(random() % 6, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

inline std::string make_hostile_text(std::mt19937& random) {
  std::string text;
  for (size_t pieces = random() % 12; pieces > 0; --pieces) text += make_piece(random);
  return text;
}

// Valid text in several languages, without characters that need an escape. `most`: characters.
inline std::string make_plain_text(std::mt19937& random, size_t most) {
  static const std::array<const char*, 12> kLetters = {"a",
                                                       "Z",
                                                       "7",
                                                       " ",
                                                       ".",
                                                       "(",
                                                       "\xC3\xA4",
                                                       "\xCE\xBB",
                                                       "\xD0\x96",
                                                       "\xE7\x94\xBB",
                                                       "\xE2\x82\xAC",
                                                       "\xF0\x9F\x8C\xB3"};
  std::string text;
  for (size_t letters = random() % most; letters > 0; --letters) text += kLetters[random() % kLetters.size()];
  return text;
}

// The first character that a terminal would obey, hide or reorder, or that is not UTF-8, as "byte 5"; "": none. Line
// feeds and tabs are allowed. Independent of the functions under test.
inline std::string find_unsafe(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<uint8_t>(text[at]);
    const size_t bytes = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    uint32_t code = bytes == 1 ? lead : lead & (0xFFu >> (bytes + 1));
    bool is_valid = (lead < 0x80 || (lead >= 0xC2 && lead <= 0xF4)) && at + bytes <= text.size();
    for (size_t i = 1; is_valid && i < bytes; ++i) {
      is_valid = (static_cast<uint8_t>(text[at + i]) & 0xC0) == 0x80;
      code = code << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3Fu);
    }
    const bool is_control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
    const bool is_hidden = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
                           (code >= 0x2066 && code <= 0x2069) || code == 0x61C || code == 0xFEFF;
    if (!is_valid || is_control || is_hidden) return "byte " + std::to_string(at);
    at += bytes;
  }
  return "";
}

}  // namespace tenon
