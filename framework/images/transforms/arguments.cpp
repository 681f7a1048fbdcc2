#include "framework/images/transforms/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "framework/formats/nearest_name.h"

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
    } else if (at_ < text_.size() && text_[at_] == '\'') {
      value.word = read_quoted();
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

  // With its quotes, which no word of the transforms here has.
  std::string read_quoted() {
    const size_t end = text_.find('\'', at_ + 1);
    if (end == text_.npos) refuse("a second single quote");
    const std::string quoted(text_.substr(at_, end + 1 - at_));
    at_ = end + 1;
    skip_spaces();
    return quoted;
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

double parse_bound(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  double bound = 0;
  std::from_chars(text.data(), text.data() + text.size(), bound);
  return bound;
}

bool lies_in(double number, std::string_view range) {
  if (range.empty()) return true;
  const size_t comma = range.find(',');
  const double lower = parse_bound(range.substr(1, comma - 1));
  const double upper = parse_bound(range.substr(comma + 1, range.size() - comma - 2));
  const bool above = range.front() == '[' ? number >= lower : number > lower;
  const bool below = range.back() == ']' ? number <= upper : number < upper;
  return above && below;
}

bool is_allowed(const WrittenValue& value, const Argument& argument) {
  if (!value.word.empty()) return std::count(argument.words.begin(), argument.words.end(), value.word) > 0;
  if (std::count(argument.counts.begin(), argument.counts.end(), value.numbers.size()) == 0) return false;
  return std::all_of(value.numbers.begin(), value.numbers.end(), [&](double number) {
    // Every whole number is stored in an int.
    if (argument.is_whole && (number != std::floor(number) || std::abs(number) > 1e9)) return false;
    return lies_in(number, argument.range);
  });
}

void check(const WrittenValue& value, const Argument& argument) {
  if (is_allowed(value, argument)) return;
  const std::string text = argument.name + " is " + value.text + "; expected " + argument.describe_values();
  const std::string suggestion = value.word.empty() ? "" : formats::suggest_nearest(value.word, argument.words);
  throw TextError(text + suggestion);
}

const Argument& find(const std::vector<Argument>& declared, const std::string& name) {
  std::vector<std::string> names;
  for (const Argument& argument : declared) {
    if (argument.name == name) return argument;
    names.push_back(argument.name);
  }
  throw TextError("there is no argument \"" + name + "\"" +
                  (names.empty() ? std::string("; expected none") : formats::suggest_name(name, names)));
}

std::string join(const std::vector<std::string>& words, const std::string& last_word) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last_word : ", ";
    text += words[i];
  }
  return text;
}

std::string format_number(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::string format_json_value(const WrittenValue& value) {
  if (value.word == "true" || value.word == "false") return value.word;
  if (!value.word.empty()) return '"' + value.word + '"';
  if (value.numbers.size() == 1) return format_number(value.numbers.front());
  std::string text;
  for (const double number : value.numbers) text += (text.empty() ? "[" : ", ") + format_number(number);
  return text + ']';
}

}  // namespace

WrittenTransform parse_transform(std::string_view text) { return Reader(text).read_transform(); }

WrittenValue parse_value(std::string_view text) { return Reader(text).read_whole_value(); }

std::string Argument::describe_values() const {
  std::vector<std::string> kinds;
  if (!counts.empty()) {
    std::vector<std::string> amounts;
    for (const size_t count : counts) amounts.push_back(std::to_string(count));
    const bool one = counts.size() == 1 && counts[0] == 1;
    const bool is_range = counts.size() > 4;  // without gaps
    std::string text = one ? "a" : is_range ? amounts.front() + " to " + amounts.back() : join(amounts, " or ");
    text += is_whole ? " whole number" : " number";
    if (!one) text += "s";
    if (!range.empty()) text += " in " + range;
    kinds.push_back(text);
  }
  kinds.insert(kinds.end(), words.begin(), words.end());
  return join(kinds, " or ");
}

Argument flag(std::string name, std::string default_value, std::string doc) {
  Argument argument = {std::move(name), std::move(default_value), std::move(doc)};
  argument.counts = {};
  argument.words = {"true", "false"};
  return argument;
}

Arguments::Arguments(const std::vector<WrittenArgument>& written, const std::vector<Argument>& declared) {
  bool saw_name = false;
  for (size_t i = 0; i < written.size(); ++i) {
    std::string name = written[i].name;
    const std::string text = written[i].value.text;
    if (!name.empty()) {
      saw_name = true;
    } else if (saw_name) {
      throw TextError("found " + text + " without a name after a named argument; expected a name, as in " +
                      (declared.empty() ? "p" : declared.back().name) + "=" + text);
    } else if (i >= declared.size()) {
      throw TextError("argument " + std::to_string(i + 1) + " is " + text + "; expected " +
                      std::to_string(declared.size()) + " at most");
    } else {
      name = declared[i].name;
    }
    check(written[i].value, find(declared, name));
    if (!values_.emplace(name, written[i].value).second) throw TextError(name + " is given twice");
  }
  for (const Argument& argument : declared) {
    if (values_.contains(argument.name)) continue;
    if (argument.default_value.empty()) {
      throw TextError("the argument " + argument.name + " is missing; expected " + argument.describe_values());
    }
    values_.emplace(argument.name, parse_value(argument.default_value));
  }
}

const WrittenValue& Arguments::value(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::logic_error("no argument " + std::string(name) + " is declared");
  return found->second;
}

std::string Arguments::format_json(const std::vector<Argument>& declared) const {
  std::string text;
  for (const Argument& argument : declared)
    text += (text.empty() ? "\"" : ", \"") + argument.name + "\": " + format_json_value(value(argument.name));
  return text;
}

void Arguments::refuse(std::string_view name, const std::string& expected) const {
  throw TextError(std::string(name) + " is " + value(name).text + "; expected " + expected);
}

std::pair<double, double> Arguments::interval(std::string_view name) const {
  const std::vector<double>& two = numbers(name);
  if (two.size() != 2 || two[0] > two[1]) refuse(name, "two numbers, the smaller one first");
  return {two[0], two[1]};
}

}  // namespace images
