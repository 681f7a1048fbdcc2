// Explains a syntax error of a run file in the words of its line, with the line that the user may have meant.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace tenon::config {

// A syntax error. Lines and columns begin at 1; columns count characters.
struct TomlError {
  int line = 0;
  int column = 0;
  std::string what;
};

// Returns the first syntax error of a text, or none if it is valid TOML.
using FindTomlError = std::function<std::optional<TomlError>(const std::string& text)>;

// Returns the error with the cause, what is expected and a corrected line, if there is one. A corrected line is only
// returned if the text has no error up to its end with it. Otherwise the parser's reason is kept.
TomlError explain_toml_error(const std::string& text, TomlError error, const FindTomlError& find_error);

}  // namespace tenon::config
