#include "framework/support/text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace tenon::support {
namespace {

constexpr size_t kUsualWidth = 80;

std::atomic<Colours> selected_colours{Colours::automatic};

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value;
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

const char* find_code(Style style) {
  switch (style) {
    case Style::bold: return "1";
    case Style::faint: return "2";
    case Style::red: return "31";
    case Style::green: return "32";
    case Style::yellow: return "33";
    default: return "";
  }
}

}  // namespace

size_t find_terminal_width(std::FILE* stream) {
  if (!is_terminal(stream)) return 0;
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualWidth;
}

void set_colours(Colours colours) { selected_colours = colours; }

bool has_colours(std::FILE* stream) {
  const Colours colours = selected_colours;
  if (colours != Colours::automatic) return colours == Colours::always;
  return is_terminal(stream) && !is_set("NO_COLOR") && is_set("TERM") &&
         std::string_view(std::getenv("TERM")) != "dumb";
}

std::string add_style(const std::string& text, Style style) {
  return style == Style::plain || text.empty() ? text : std::string("\033[") + find_code(style) + "m" + text + "\033[m";
}

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
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    // In a terminal that is narrower than the indent, lines are wrapped by the terminal.
    std::string words = indent < width ? wrap_words(line.substr(indent), width - indent) : line.substr(indent);
    for (size_t end = words.find('\n'); end != words.npos; end = words.find('\n', end + 1 + indent))
      words.insert(end + 1, indent, ' ');
    wrapped += std::string(indent, ' ') + words;
    if (!stream.eof()) wrapped += "\n";
  }
  return wrapped;
}

}  // namespace tenon::support
