#include "framework/config/toml/line_parts.h"

#include <algorithm>

namespace tenon::config {
namespace {

constexpr std::string_view kBlanks = " \t\r";

class LineScanner {
 public:
  explicit LineScanner(std::string_view line) : line_(line) {
    const bool is_header = strip_blanks(line).starts_with('[');
    is_list_ = !is_header && line.find('=') == line.npos;
    expects_value_ = is_list_;
  }

  LineParts scan() {
    parts_.end = line_.size();
    while (at_ < line_.size()) {
      const char letter = line_[at_];
      if (letter == '#') {
        parts_.end = at_;
        break;
      }
      if (letter == '"' || letter == '\'')
        read_string(letter);
      else if (std::string_view("[]{}=,").find(letter) != std::string_view::npos)
        read_mark(letter);
      else if (expects_value_ && kBlanks.find(letter) == kBlanks.npos)
        read_bare_value();
      else
        ++at_;
    }
    while (parts_.end > 0 && kBlanks.find(line_[parts_.end - 1]) != kBlanks.npos) --parts_.end;
    parts_.unclosed.assign(open_.rbegin(), open_.rend());
    return std::move(parts_);
  }

 private:
  void read_string(char quote) {
    const size_t begin = at_++;
    while (at_ < line_.size() && line_[at_] != quote) at_ += quote == '"' && line_[at_] == '\\' ? 2 : 1;
    if (at_ < line_.size())
      parts_.strings.push_back({begin, ++at_});
    else
      parts_.open_string = Span{begin, line_.size()};
    at_ = std::min(at_, line_.size());
    expects_value_ = false;
  }

  void read_mark(char mark) {
    if (mark == '[' || mark == '{') open_ += mark == '[' ? ']' : '}';
    if (mark == ']' || mark == '}') close(mark);
    const bool is_element = open_.empty() ? is_list_ : open_.back() == ']';
    expects_value_ = mark == '=' || mark == '[' || (mark == ',' && is_element);
    ++at_;
  }

  void close(char bracket) {
    if (!open_.empty() && open_.back() == bracket) {
      open_.pop_back();
    } else if (!parts_.wrong_bracket && !open_.empty()) {
      parts_.wrong_bracket = at_;
    }
  }

  // Commas in the parentheses of a transform belong to it.
  void read_bare_value() {
    const size_t begin = at_;
    size_t parentheses = 0;
    for (; at_ < line_.size(); ++at_) {
      const char letter = line_[at_];
      if (letter == '(') ++parentheses;
      if (letter == ')' && parentheses > 0) --parentheses;
      if (letter == '#' || (parentheses == 0 && std::string_view(",]}=").find(letter) != std::string_view::npos)) break;
    }
    size_t end = at_;
    while (end > begin && kBlanks.find(line_[end - 1]) != kBlanks.npos) --end;
    parts_.bare_values.push_back({begin, end});
    expects_value_ = false;
  }

  std::string_view line_;
  size_t at_ = 0;
  bool is_list_ = false;
  bool expects_value_ = false;
  std::string open_;  // the closing brackets of the open ones
  LineParts parts_;
};

}  // namespace

LineParts find_line_parts(std::string_view line) { return LineScanner(line).scan(); }

std::string_view strip_blanks(std::string_view text) {
  while (!text.empty() && kBlanks.find(text.front()) != kBlanks.npos) text.remove_prefix(1);
  while (!text.empty() && kBlanks.find(text.back()) != kBlanks.npos) text.remove_suffix(1);
  return text;
}

}  // namespace tenon::config
