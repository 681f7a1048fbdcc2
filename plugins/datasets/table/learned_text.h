// What a table derives from its training rows, as one text: `table/1 2 3:age 0x1.8p+5`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <tenon/error.hpp>

namespace table {

class TextWriter {
 public:
  // `form` names the component and the version of its text.
  explicit TextWriter(const std::string& form) : text_(form) {}

  void add(size_t number) { text_ += ' ' + std::to_string(number); }
  void add(double number) {
    char digits[40];
    std::snprintf(digits, sizeof digits, " %a", number);  // hexadecimal, without rounding
    text_ += digits;
  }
  void add(const std::string& bytes) { text_ += ' ' + std::to_string(bytes.size()) + ':' + bytes; }
  template <class List>
  void add_all(const List& list) {
    add(list.size());
    for (const auto& one : list) add(one);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Throws tenon::DataError unless a TextWriter of this form wrote the text, with the same sequence of calls.
class TextReader {
 public:
  TextReader(std::string_view text, const std::string& form) : left_(text) {
    if (left_.substr(0, form.size()) != form) refuse();
    left_.remove_prefix(form.size());
  }

  size_t number() {
    const std::string word = next();
    char* end = nullptr;
    const unsigned long long number = std::strtoull(word.c_str(), &end, 10);
    if (*end != '\0' || number > left_.size()) refuse();  // each counted element has a byte
    return static_cast<size_t>(number);
  }
  double floating() {
    const std::string word = next();
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (*end != '\0' || !std::isfinite(number)) refuse();
    return number;
  }
  std::string text() {
    const size_t colon = left_.find(':');
    if (colon == std::string_view::npos || colon > 20) refuse();
    const size_t size = std::strtoull(std::string(left_.substr(1, colon - 1)).c_str(), nullptr, 10);
    left_.remove_prefix(colon + 1);
    if (size > left_.size()) refuse();
    const std::string bytes(left_.substr(0, size));
    left_.remove_prefix(size);
    return bytes;
  }
  void finish() const {
    if (!left_.empty()) refuse();
  }

 private:
  std::string next() {
    if (left_.size() < 2 || left_.front() != ' ') refuse();
    left_.remove_prefix(1);
    const size_t end = std::min(left_.find(' '), left_.size());
    std::string word(left_.substr(0, end));
    left_.remove_prefix(end);
    if (word.empty()) refuse();
    return word;
  }
  [[noreturn]] static void refuse() {
    throw tenon::DataError(
        "the saved columns and statistics of the training data cannot be read; expected those that this version of "
        "the plugin wrote");
  }

  std::string_view left_;
};

}  // namespace table
