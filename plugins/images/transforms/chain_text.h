// Parses the text of one transform: `random_resized_crop(224, scale=(0.08, 1))`.
//
//   transform = name [ "(" [ argument { "," argument } ] ")" ]
//   argument  = [ name "=" ] value
//   value     = number | word | "(" number { "," number } ")"
//   name, word: lower-case letters, digits and _, beginning with a letter
#pragma once

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

// Throws TextError.
WrittenTransform parse_transform(std::string_view text);
WrittenValue parse_value(std::string_view text);

}  // namespace images
