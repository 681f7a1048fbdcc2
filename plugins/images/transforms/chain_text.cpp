#include "plugins/images/transforms/chain_text.h"

#include <charconv>
#include <cmath>

namespace images {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_number(char c) { return is_digit(c) || c == '-' || c == '+' || c == '.'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { skip_spaces(); }

  WrittenTransform read_transform() {
    WrittenTransform transform;
    transform.name = read_name("the name of a transform");
    if (take('(') && !take(')')) {
      do {
        transform.arguments.push_back(read_argument());
      } while (take(','));
      expect(')', "\",\" or \")\"");
    }
    expect_end();
    return transform;
  }

  WrittenValue read_whole_value() {
    WrittenValue value = read_value();
    expect_end();
    return value;
  }

 private:
  WrittenArgument read_argument() {
    const size_t start = at_;
    if (at_ < text_.size() && is_letter(text_[at_])) {
      std::string name = read_name("an argument");
      if (take('=')) return {name, read_value()};
      at_ = start;
    }
    return {"", read_value()};
  }

  WrittenValue read_value() {
    const size_t start = at_;
    WrittenValue value;
    if (take('(')) {
      do {
        value.numbers.push_back(read_number());
      } while (take(','));
      expect(')', "\",\" or \")\"");
    } else if (at_ < text_.size() && is_letter(text_[at_])) {
      value.word = read_name("a value");
    } else {
      value.numbers.push_back(read_number());
    }
    value.text = text_.substr(start, at_ - start);
    while (is_space(value.text.back())) value.text.pop_back();
    return value;
  }

  std::string read_name(const char* what) {
    const size_t start = at_;
    if (at_ < text_.size() && is_letter(text_[at_])) {
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    }
    if (at_ == start) refuse(what);
    const std::string name(text_.substr(start, at_ - start));
    skip_spaces();
    return name;
  }

  double read_number() {
    if (at_ == text_.size() || !begins_number(text_[at_])) refuse("a number");
    const size_t start = at_ + (text_[at_] == '+' ? 1 : 0);  // from_chars does not accept a plus sign
    double number = 0;
    const auto [end, error] = std::from_chars(text_.data() + start, text_.data() + text_.size(), number);
    if (error != std::errc() || !std::isfinite(number)) refuse("a number");
    at_ = static_cast<size_t>(end - text_.data());
    skip_spaces();
    return number;
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_spaces();
    return true;
  }

  void expect(char c, const char* what) {
    if (!take(c)) refuse(what);
  }

  void expect_end() {
    if (at_ != text_.size()) refuse("the end");
  }

  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  [[noreturn]] void refuse(const char* expected) const {
    const std::string found = at_ == text_.size() ? "the end" : "\"" + std::string(text_.substr(at_)) + "\"";
    throw TextError("found " + found + " at character " + std::to_string(at_ + 1) + "; expected " + expected);
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

WrittenTransform parse_transform(std::string_view text) { return Reader(text).read_transform(); }

WrittenValue parse_value(std::string_view text) { return Reader(text).read_whole_value(); }

}  // namespace images
