// Words that TorchScript cannot read as names.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace formats {

// The words of TorchScript's language (torch/csrc/jit/frontend/lexer.h): most keywords of Python.
inline bool is_torchscript_word(std::string_view word) {
  static constexpr std::array<std::string_view, 28> kWords = {
      "Ellipsis", "False", "None", "NoneType", "True",  "and",    "as",     "assert", "break",  "class",
      "continue", "def",   "del",  "elif",     "else",  "for",    "global", "if",     "import", "in",
      "is",       "not",   "or",   "pass",     "raise", "return", "while",  "with"};
  return std::ranges::find(kWords, word) != kWords.end();
}

// Returns the first part of a dotted name that is such a word; "" if none is.
inline std::string find_torchscript_word(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    if (is_torchscript_word(part)) return std::string(part);
    name.remove_prefix(std::min(name.size(), part.size() + 1));
  }
  return "";
}

}  // namespace formats
