#include "framework/support/text/wrap_text.h"

#include <sstream>

namespace tenon::support {

std::string wrap_parts(const std::vector<std::string>& parts, const std::string& separator, size_t width) {
  const size_t end = separator.find_last_not_of(' ') + 1;  // of what stays in the line
  std::string text;
  size_t column = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t after = i + 1 < parts.size() ? end : 0;
    const bool fits = width == 0 || column + separator.size() + parts[i].size() + after <= width;
    if (i > 0) text += fits ? separator : separator.substr(0, end) + "\n  ";
    column = i > 0 && fits ? column + separator.size() : i > 0 ? 2 : 0;
    column += parts[i].size();
    text += parts[i];
  }
  return text;
}

std::string wrap_words(const std::string& text, size_t width) {
  if (width == 0) return text;
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, ' ');) words.push_back(word);
  return wrap_parts(words, " ", width);
}

std::string wrap_lines(const std::string& text, size_t width) {
  if (width == 0) return text;
  std::istringstream stream(text);
  std::string wrapped;
  for (std::string line; std::getline(stream, line);) {
    wrapped += wrap_words(line, width);
    if (!stream.eof()) wrapped += "\n";
  }
  return wrapped;
}

}  // namespace tenon::support
