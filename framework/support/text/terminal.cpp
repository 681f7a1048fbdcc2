#include "framework/support/text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
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

}  // namespace tenon::support
