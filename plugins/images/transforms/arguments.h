// The arguments of a transform: declared once, checked and documented from the declaration.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/images/transforms/chain_text.h"

namespace images {

struct Argument {
  std::string name;
  std::string default_value;            // as one would write it; empty: required
  std::string doc;                      // one line
  std::vector<size_t> counts = {1};     // how many numbers: {1, 2} for `224` or `(224, 160)`; none: only words
  std::string range = {};               // of each number, such as `[0, 1]` or `(0, inf)`; empty: any
  bool is_whole = false;                // numbers without a fraction
  std::vector<std::string> words = {};  // what may stand there in place of numbers

  // `a number in [0, 1], or none`
  std::string describe_values() const;
};

// A bool, written true or false.
Argument flag(std::string name, std::string default_value, std::string doc);

// The values for one transform: every declared argument, defaults filled in.
class Arguments {
 public:
  // By position in the order of the declaration, then by name. Throws TextError saying what was found and expected:
  // too many, unknown, given twice, missing, of another kind or out of range.
  Arguments(const std::vector<WrittenArgument>& written, const std::vector<Argument>& declared);

  // REQUIRES of each: such an argument is declared, and holds what is asked for.
  double number(std::string_view name) const { return numbers(name).front(); }
  int integer(std::string_view name) const { return static_cast<int>(number(name)); }
  const std::vector<double>& numbers(std::string_view name) const { return value(name).numbers; }
  const std::string& word(std::string_view name) const { return value(name).word; }
  bool is_on(std::string_view flag) const { return word(flag) == "true"; }
  bool is_word(std::string_view name) const { return !word(name).empty(); }

  // `scale is (1, 0.1); expected ...`
  [[noreturn]] void refuse(std::string_view name, const std::string& expected) const;
  // Two numbers of which the second is not the smaller one, or throws.
  std::pair<double, double> interval(std::string_view name) const;

 private:
  const WrittenValue& value(std::string_view name) const;

  std::map<std::string, WrittenValue, std::less<>> values_;
};

}  // namespace images
