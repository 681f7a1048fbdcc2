#include "framework/support/text/terminal.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>

namespace tenon::support {

namespace {

// A terminal of this width; 0: a terminal that does not know its width.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : far_end_(posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(grantpt(far_end_) == 0);
    REQUIRE(unlockpt(far_end_) == 0);
    stream_ = std::fopen(ptsname(far_end_), "w");
    REQUIRE(stream_);
    const winsize size{24, columns, 0, 0};
    REQUIRE(ioctl(fileno(stream_), TIOCSWINSZ, &size) == 0);
  }
  ~Terminal() {
    std::fclose(stream_);
    close(far_end_);
  }
  Terminal(const Terminal&) = delete;
  std::FILE* stream() { return stream_; }

 private:
  int far_end_;
  std::FILE* stream_;
};

}  // namespace

TEST_CASE("a terminal has its width, or 80 columns, and a file has none") {
  CHECK(find_terminal_width(Terminal(137).stream()) == 137);
  CHECK(find_terminal_width(Terminal(0).stream()) == 80);
  std::FILE* const file = std::tmpfile();
  CHECK(find_terminal_width(file) == 0);
  std::fclose(file);
}

TEST_CASE("terminals have colours, unless the environment says otherwise") {
  Terminal terminal(80);
  std::FILE* const file = std::tmpfile();
  unsetenv("NO_COLOR");
  setenv("TERM", "xterm", 1);
  CHECK(has_colours(terminal.stream()));
  CHECK_FALSE(has_colours(file));
  setenv("TERM", "dumb", 1);
  CHECK_FALSE(has_colours(terminal.stream()));
  unsetenv("TERM");
  CHECK_FALSE(has_colours(terminal.stream()));
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(has_colours(terminal.stream()));
  set_colours(Colours::always);
  CHECK(has_colours(file));
  set_colours(Colours::never);
  setenv("NO_COLOR", "", 1);
  CHECK_FALSE(has_colours(terminal.stream()));
  set_colours(Colours::automatic);
  CHECK(has_colours(terminal.stream()));
  std::fclose(file);
}

TEST_CASE("a style encloses a text, and a plain or empty one has none") {
  CHECK(add_style("best", Style::green) == "\033[32mbest\033[m");
  CHECK(add_style("best", Style::plain) == "best");
  CHECK(add_style("", Style::bold).empty());
}

}  // namespace tenon::support
