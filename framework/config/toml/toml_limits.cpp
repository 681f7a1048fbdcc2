#include "framework/config/toml/toml_limits.h"

namespace tenon::config {
namespace {

class LimitScanner {
 public:
  explicit LimitScanner(std::string_view text) : text_(text) {}

  std::optional<TomlExcess> scan() {
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '#') {
        skip_comment();
      } else if (letter == '"' || letter == '\'') {
        skip_string(letter);
      } else {
        count(letter);
        step();
        if (dots_ >= kMostKeyParts) return excess(describe_key_excess());
        if (depth_ > kMostNesting)
          return excess("lists and tables are nested more than " + std::to_string(kMostNesting) +
                        " deep; expected at most " + std::to_string(kMostNesting) + "; remove brackets");
      }
    }
    return std::nullopt;
  }

 private:
  // A number has a dot too, but only one.
  void count(char letter) {
    if (letter == '.') return void(++dots_);
    if (letter == '[' || letter == '{') ++depth_;
    if ((letter == ']' || letter == '}') && depth_ > 0) --depth_;
    if (std::string_view("[]{}=,\n").find(letter) != std::string_view::npos) dots_ = 0;
  }

  void step() {
    const char letter = text_[at_++];
    if (letter == '\n') {
      ++line_;
      column_ = 1;
    } else if ((static_cast<unsigned char>(letter) & 0xC0) != 0x80) {
      ++column_;
    }
  }

  void step(size_t letters) {
    while (letters-- > 0 && at_ < text_.size()) step();
  }

  bool is_at(char letter, size_t times) const {
    const std::string_view next = text_.substr(at_, times);
    return next.size() == times && next.find_first_not_of(letter) == std::string_view::npos;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') step();
  }

  void skip_string(char quote) {
    const bool has_escapes = quote == '"';
    const bool has_lines = is_at(quote, 3);
    step(has_lines ? 3 : 1);
    while (at_ < text_.size() && !is_at(quote, has_lines ? 3 : 1)) {
      if (!has_lines && text_[at_] == '\n') return;  // not TOML
      step(has_escapes && text_[at_] == '\\' ? 2 : 1);
    }
    step(has_lines ? 3 : 1);
    // Up to two quotes before the closing ones belong to the string.
    for (int more = 0; has_lines && more < 2 && is_at(quote, 1); ++more) step();
  }

  TomlExcess excess(std::string what) const { return {line_, column_ - 1, std::move(what)}; }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  size_t dots_ = 0;  // since the last character that cannot be part of a key
  size_t depth_ = 0;
};

}  // namespace

std::optional<TomlExcess> find_toml_excess(std::string_view text) { return LimitScanner(text).scan(); }

std::string describe_key_excess() {
  const std::string most = std::to_string(kMostKeyParts);
  return "a key has more than " + most + " parts, separated by dots; expected at most " + most + "; shorten the key";
}

}  // namespace tenon::config
