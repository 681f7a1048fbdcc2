#include "framework/config/toml/repair_line.h"

#include <algorithm>
#include <optional>

#include "framework/formats/strings.h"
#include "framework/support/text/format.h"

namespace tenon::config {
namespace {

using Found = std::optional<Repair>;

constexpr std::string_view kKeyLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

bool is_key(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kKeyLetters) == std::string_view::npos;
}

std::string replace(const std::string& line, Span span, std::string_view text) {
  return line.substr(0, span.begin).append(text).append(line.substr(span.end));
}

std::string text_of(const std::string& line, Span span) { return line.substr(span.begin, span.end - span.begin); }

// The bare value at which the parser gave up, or after which it found something else.
std::optional<Span> find_bare_value(const LineParts& parts, size_t at) {
  for (const Span& span : parts.bare_values)
    if (at >= span.begin && at <= span.end) return span;
  return std::nullopt;
}

Found straighten_quotes(const std::string& line) {
  std::string straight = line;
  for (const auto& [curly, quote] : {std::pair("\u201C", '"'), std::pair("\u201D", '"'), std::pair("\u201E", '"'),
                                     std::pair("\u2018", '\''), std::pair("\u2019", '\'')})
    straight = formats::replace_all(straight, curly, {&quote, 1});
  if (straight == line) return std::nullopt;
  return Repair{"the quotes are typographic", "straight quotes", straight};
}

Found fix_comment(const std::string& line, size_t at) {
  for (const std::string_view mark : {"//", "--", ";", "%"}) {
    const size_t begin = line.find_first_not_of(" \t");
    const size_t place = begin != line.npos && line.compare(begin, mark.size(), mark) == 0 ? begin : at;
    if (line.compare(place, mark.size(), mark) != 0) continue;
    const std::string rest(strip_blanks(std::string_view(line).substr(place + mark.size())));
    const std::string before = line.substr(0, place);
    if (rest.empty()) return Repair{fmt::format("\"{}\" ends no line", mark), "a line break alone", before};
    return Repair{fmt::format("\"{}\" begins no comment", mark), "\"#\"", before + "# " + rest};
  }
  return std::nullopt;
}

// "model:" in YAML.
Found fix_yaml_section(const std::string& line) {
  const std::string_view text = strip_blanks(line);
  if (!text.ends_with(':') || !is_key(text.substr(0, text.size() - 1))) return std::nullopt;
  return Repair{fmt::format("\"{}\" is YAML", text), "a table header in brackets",
                fmt::format("[{}]", text.substr(0, text.size() - 1))};
}

Found fix_header(const std::string& line) {
  const LineParts parts = find_line_parts(line);
  const std::string_view text = strip_blanks(std::string_view(line).substr(0, parts.end));
  const size_t begin = text.find_first_not_of('[');
  const size_t last = text.find_last_not_of(']');
  if (begin == text.npos || last == text.npos || last < begin) return std::nullopt;
  const size_t opened = begin, closed = text.size() - 1 - last;
  const std::string_view name = strip_blanks(text.substr(begin, last + 1 - begin));
  if (opened + closed == 0 || !is_key(name)) return std::nullopt;
  const std::string found = "the brackets of the header do not match";
  const std::string_view rest = std::string_view(line).substr(parts.end);
  if (opened >= 2) return Repair{found, "two brackets on each side", fmt::format("[[{}]]{}", name, rest)};
  return Repair{found, "one bracket on each side", fmt::format("[{}]{}", name, rest)};
}

Found fix_colon(const std::string& line, size_t at) {
  if (at >= line.size() || line[at] != ':') return std::nullopt;
  const bool has_blank = at > 0 && line[at - 1] == ' ';
  return Repair{"\":\" follows the key", "\"=\"", replace(line, {at, at + 1}, has_blank ? "=" : " =")};
}

Found insert_equals(const std::string& line, size_t at) {
  const std::string_view key = strip_blanks(std::string_view(line).substr(0, at));
  if (!is_key(key) || at >= line.size()) return std::nullopt;
  return Repair{"no \"=\" follows the key", "\"=\" between key and value",
                std::string(key) + " = " + std::string(strip_blanks(std::string_view(line).substr(at)))};
}

Found fix_boolean(const std::string& line, const LineParts& parts, size_t at) {
  const auto span = find_bare_value(parts, at);
  if (!span) return std::nullopt;
  const std::string found = text_of(line, *span) + " is no TOML value";
  const std::string word = formats::to_lower(text_of(line, *span));
  for (const auto& [known, value] : {std::pair("true", "true"), std::pair("yes", "true"), std::pair("on", "true"),
                                     std::pair("false", "false"), std::pair("no", "false"), std::pair("off", "false")})
    if (word == known) return Repair{found, "true or false", replace(line, *span, value)};
  if (word == "none" || word == "null" || word == "nil")
    return Repair{found, "a value, or no such line for the default", "# " + line};
  return std::nullopt;
}

// ".5", "5.", "05", "0,5" and "5f".
Found fix_number(const std::string& line, const LineParts& parts, size_t at) {
  const auto span = find_bare_value(parts, at);
  if (!span) return std::nullopt;
  const std::string word = text_of(line, *span);
  constexpr std::string_view kDigits = "0123456789";
  const auto has_digits = [&](std::string_view text) {
    return !text.empty() && text.find_first_not_of(kDigits) == text.npos;
  };
  const std::string sign = word.starts_with('-') || word.starts_with('+') ? word.substr(0, 1) : "";
  const std::string number = word.substr(sign.size());
  const std::string expected = "a number with a digit on both sides of the point";
  const bool is_number =
      number.find_first_of(kDigits) <= 1 && number.find_first_not_of("0123456789._eE+-f") == number.npos;
  if (!is_number) return std::nullopt;
  if (number.starts_with('.'))
    return Repair{word + " begins with a point", expected, replace(line, *span, sign + "0" + number)};
  if (number.ends_with('.')) return Repair{word + " ends with a point", expected, replace(line, *span, word + "0")};
  if (const size_t digit = number.find_first_not_of('0'); digit > 0 && number.size() > 1 && has_digits(number))
    return Repair{word + " begins with 0", "a number without leading zeros",
                  replace(line, *span, sign + (digit == number.npos ? "0" : number.substr(digit)))};
  const std::string_view rest = std::string_view(line).substr(span->end, parts.end - span->end);
  if (has_digits(number) && rest.starts_with(',') && has_digits(rest.substr(1)))
    return Repair{word + std::string(rest) + " has a comma", "a decimal point",
                  replace(line, {span->begin, parts.end}, word + "." + std::string(rest.substr(1)))};
  if (number.ends_with('f') && kDigits.find(number[0]) != kDigits.npos)
    return Repair{word + " is no number of TOML", "a number without a letter at its end",
                  replace(line, *span, word.substr(0, word.size() - 1))};
  return std::nullopt;
}

// "params = hidden = [16]".
Found insert_braces(const std::string& line, const LineParts& parts, size_t at) {
  const auto span = find_bare_value(parts, at);
  if (!span || line.find('=', span->end) == line.npos || !is_key(text_of(line, *span))) return std::nullopt;
  return Repair{"a table has no braces", "braces around its keys",
                replace(line, {span->begin, parts.end}, "{ " + text_of(line, {span->begin, parts.end}) + " }")};
}

// "lr = 1e-2 weight_decay = 0.1".
Found split_keys(const std::string& line, size_t at) {
  const std::string_view rest = std::string_view(line).substr(std::min(at, line.size()));
  const size_t equals = rest.find('=');
  if (at == 0 || equals == rest.npos || !is_key(strip_blanks(rest.substr(0, equals)))) return std::nullopt;
  std::string_view before = strip_blanks(std::string_view(line).substr(0, at));
  if (before.ends_with(',') || before.ends_with(';')) before.remove_suffix(1);
  return Repair{"a second key is on the line", "one key on each line", std::string(before) + "\n" + std::string(rest)};
}

// Adds a missing quote, before or after the brackets that follow.
void close_string(const std::string& line, const LineParts& parts, std::vector<Repair>& repairs) {
  if (!parts.open_string) return;
  const std::string found = "a string is not closed", expected = "a quote at its end";
  const size_t end = line.find_last_not_of(" \t\r") + 1;
  const std::string content = line.substr(0, end);
  const char quote = line[parts.open_string->begin];
  const char other = quote == '"' ? '\'' : '"';
  if (content.ends_with(other))
    repairs.push_back(
        {"a string ends with another quote than it begins", "the same quotes",
         replace(content, {parts.open_string->begin, parts.open_string->begin + 1}, std::string(1, other))});
  const size_t brackets = content.find_last_not_of(" \t]}") + 1;
  if (brackets < end)
    repairs.push_back({found, expected, replace(content, {brackets, brackets}, std::string(1, quote))});
  repairs.push_back({found, expected, content + quote});
}

void close_brackets(const std::string& line, const LineParts& parts, std::vector<Repair>& repairs) {
  const std::string found = "a bracket is not closed", expected = "as many closing brackets as opening ones";
  if (parts.wrong_bracket) {
    const std::string missing(1, line[*parts.wrong_bracket] == '}' ? ']' : '}');
    const size_t end = line.find_last_not_of(' ', *parts.wrong_bracket - 1) + 1;
    repairs.push_back({found, expected, replace(line, {end, end}, missing)});
    repairs.push_back({"the brackets do not match", "a closing bracket of the same kind",
                       replace(line, {*parts.wrong_bracket, *parts.wrong_bracket + 1}, missing)});
  }
  if (parts.unclosed.empty()) return;
  const std::string blank = parts.unclosed.ends_with('}') ? " " : "";
  repairs.push_back({found, expected, replace(line, {parts.end, parts.end}, blank + parts.unclosed)});
}

Found remove_last_comma(const std::string& line) {
  const size_t brace = line.rfind('}');
  const size_t comma = brace == line.npos ? brace : line.find_last_not_of(' ', brace - 1);
  if (brace == 0 || comma == line.npos || line[comma] != ',') return std::nullopt;
  return Repair{"a comma follows the last key", "none before the closing brace", replace(line, {comma, comma + 1}, "")};
}

// "C:\runs".
Found use_literal_string(const std::string& line, const LineParts& parts, size_t at) {
  for (const Span& span : parts.strings) {
    const std::string text = text_of(line, span);
    if (at < span.begin || at > span.end || text.find('\\') == text.npos || text.find('\'') != text.npos) continue;
    return Repair{"a backslash begins an escape", "single quotes around a text with backslashes",
                  replace(line, span, "'" + text.substr(1, text.size() - 2) + "'")};
  }
  return std::nullopt;
}

Found quote_value(const std::string& line, const LineParts& parts, size_t at) {
  const auto span = find_bare_value(parts, at);
  if (!span) return std::nullopt;
  std::string word = text_of(line, *span);
  const std::string found = word + " has no quotes";
  std::erase(word, '"');
  return Repair{found, "a string in quotes", replace(line, *span, "\"" + word + "\"")};
}

// "batch size = 64".
Found join_key(const std::string& line) {
  const size_t equals = line.find('=');
  std::string key(strip_blanks(std::string_view(line).substr(0, equals)));
  if (equals == line.npos || key.find(' ') == key.npos) return std::nullopt;
  std::ranges::replace(key, ' ', '_');
  if (!is_key(key)) return std::nullopt;
  return Repair{"the key contains a blank", "a key of one word", key + " " + line.substr(equals)};
}

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
    parts_.bare_values.push_back({begin, begin + strip_blanks(line_.substr(begin, at_ - begin)).size()});
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

std::vector<Repair> list_repairs(const std::string& line, size_t at) {
  const LineParts parts = find_line_parts(line);
  std::vector<Repair> repairs;
  const auto add = [&repairs](Found found) {
    if (found) repairs.push_back(std::move(*found));
  };
  add(straighten_quotes(line));
  add(fix_comment(line, at));
  add(fix_yaml_section(line));
  add(fix_header(line));
  add(fix_colon(line, at));
  add(join_key(line));
  add(insert_equals(line, at));
  add(fix_boolean(line, parts, at));
  add(fix_number(line, parts, at));
  add(insert_braces(line, parts, at));
  add(split_keys(line, at));
  close_string(line, parts, repairs);
  close_brackets(line, parts, repairs);
  add(remove_last_comma(line));
  add(use_literal_string(line, parts, at));
  add(quote_value(line, parts, at));
  return repairs;
}

LineParts find_line_parts(std::string_view line) { return LineScanner(line).scan(); }

std::string_view strip_blanks(std::string_view text) {
  while (!text.empty() && kBlanks.find(text.front()) != kBlanks.npos) text.remove_prefix(1);
  while (!text.empty() && kBlanks.find(text.back()) != kBlanks.npos) text.remove_suffix(1);
  return text;
}

}  // namespace tenon::config
