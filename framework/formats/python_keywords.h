// Words that Python and TorchScript do not accept as names.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace formats {

// The keywords of Python 3 (docs.python.org/3/reference/lexical_analysis.html, "Keywords").
inline bool is_python_keyword(std::string_view word) {
  static constexpr std::array<std::string_view, 35> kKeywords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::ranges::find(kKeywords, word) != kKeywords.end();
}

// Returns the first part of a dotted name that is a keyword; "" if none is.
inline std::string find_python_keyword(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    if (is_python_keyword(part)) return std::string(part);
    name.remove_prefix(std::min(name.size(), part.size() + 1));
  }
  return "";
}

}  // namespace formats
