// The saved state of a callback as one line of words: `nan_guard/1 3 0x1.8p+1`.
#pragma once

#include <tenon/plugin.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

class StateWriter {
 public:
  // `form` names the callback and the version of its state.
  explicit StateWriter(const std::string& form) : text_(form) {}

  void add(int64_t number) { text_ += ' ' + std::to_string(number); }
  void add(double number) {
    char digits[40];
    std::snprintf(digits, sizeof digits, " %a", number);  // hexadecimal, without rounding
    text_ += digits;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Reads the text of a StateWriter. Throws tenon::Error(TENON_INVALID_ARGUMENT) unless a StateWriter of this form wrote
// it.
class StateReader {
 public:
  StateReader(std::string_view bytes, const std::string& form) : form_(form), words_(std::string(bytes)) {
    if (next() != form) refuse("has another header");
  }

  int64_t integer(int64_t least, int64_t most) {
    const std::string word = next();
    char* end = nullptr;
    const long long number = std::strtoll(word.c_str(), &end, 10);
    if (word.empty() || *end != '\0' || number < least || number > most) refuse("contains \"" + shorten(word) + "\"");
    return number;
  }
  // Rejects NaN, which cannot be ordered.
  double number() {
    const std::string word = next();
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || std::isnan(number)) refuse("contains \"" + shorten(word) + "\"");
    return number;
  }
  void finish() {
    if (!next().empty()) refuse("has data after its end");
  }

 private:
  std::string next() {
    std::string word;
    words_ >> word;
    return word;
  }
  static std::string shorten(const std::string& word) { return word.substr(0, 40); }
  [[noreturn]] void refuse(const std::string& what) const {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "the saved state " + what + "; expected a state that " + form_ + " saved");
  }

  std::string form_;
  std::istringstream words_;
};
