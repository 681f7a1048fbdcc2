// The arguments of a transform: their text, their checks and their documentation.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace images {

struct WrittenValue {
  std::vector<double> numbers;  // empty for a word
  std::string word;
  std::string text;  // as written
};

struct WrittenArgument {
  std::string name;  // empty: by position
  WrittenValue value;
};

struct WrittenTransform {
  std::string name;
  std::vector<WrittenArgument> arguments;
};

// An error in a text: found and expected. The catcher adds the location.
struct TextError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Parses the text of one transform: `random_resized_crop(224, scale=(0.08, 1))`.
//
//   transform = name [ "(" [ argument { "," argument } ] ")" ]
//   argument  = [ name "=" ] value
//   value     = number | word | "(" number { "," number } ")" | "'" any text without single quotes "'"
//   name, word: lower-case letters, digits and _, beginning with a letter
//
// Throws TextError.
WrittenTransform parse_transform(std::string_view text);
WrittenValue parse_value(std::string_view text);

struct Argument {
  std::string name;
  std::string default_value;         // as written in the list; empty: required
  std::string doc;                   // one line
  std::vector<size_t> counts = {1};  // allowed counts of numbers: {1, 2} for `224` or `(224, 160)`; empty: only words
  std::string range = {};            // range of each number, such as `[0, 1]` or `(0, inf)`; empty: any
  bool is_whole = false;             // numbers without a fraction
  std::vector<std::string> words = {};  // allowed words instead of numbers

  // Returns for example `a number in [0, 1], or none`.
  std::string describe_values() const;
};

// A bool, written true or false.
Argument flag(std::string name, std::string default_value, std::string doc);

// The values of one transform: every declared argument, with defaults filled in.
class Arguments {
 public:
  // Arguments are passed by position in the order of the declaration, then by name. Throws TextError with the found and
  // the expected text: too many, unknown, duplicate or missing arguments, or values of the wrong kind or out of range.
  Arguments(const std::vector<WrittenArgument>& written, const std::vector<Argument>& declared);

  // REQUIRES for each function: the argument is declared and has this kind of value.
  double number(std::string_view name) const { return numbers(name).front(); }
  int integer(std::string_view name) const { return static_cast<int>(number(name)); }
  const std::vector<double>& numbers(std::string_view name) const { return value(name).numbers; }
  const std::string& word(std::string_view name) const { return value(name).word; }
  bool is_on(std::string_view flag) const { return word(flag) == "true"; }
  bool is_word(std::string_view name) const { return !word(name).empty(); }

  // Throws for example `scale is (1, 0.1); expected ...`.
  [[noreturn]] void refuse(std::string_view name, const std::string& expected) const;
  // Returns the members of a JSON object, in the order of the declaration: `"size": [224, 160], "antialias": true`.
  std::string format_json(const std::vector<Argument>& declared) const;
  // Returns two numbers in ascending order. Throws if the second is smaller.
  std::pair<double, double> interval(std::string_view name) const;

 private:
  const WrittenValue& value(std::string_view name) const;

  std::map<std::string, WrittenValue, std::less<>> values_;
};

}  // namespace images
