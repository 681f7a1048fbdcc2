// There is one log per process, and it detects the terminal once. Each test therefore runs this program as a child.
#include "framework/support/diagnostics/log.h"

#include <doctest/doctest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>
#include <string>

#include "framework/support/diagnostics/error.h"
#include "tests/support/hostile_text.h"
#include "tests/test_folder.h"

namespace tenon::support {
namespace {

std::filesystem::path log_file() { return tenon::test_folder() / "log.txt"; }

enum class Output { terminal, pipe };

constexpr int kHostileTexts = 3000;
constexpr const char* kWrittenFile = "TENON_TEST_LOG_FILE";  // environment variable of the writer

// Replaces this process with one of the skipped test cases below.
[[noreturn]] void become_writer(const char* no_color, const std::string& test_case) {
  setenv("TERM", "xterm-256color", 1);
  unsetenv("COLORTERM");
  if (no_color != nullptr) setenv("NO_COLOR", no_color, 1);
  if (no_color == nullptr) unsetenv("NO_COLOR");
  setenv(kWrittenFile, log_file().c_str(), 1);
  execl("/proc/self/exe", "writer", "--no-skip", ("--test-case=" + test_case).c_str(), "--minimal", "--no-colors",
        nullptr);
  _exit(127);
}

int start_in_pipe(int& output, const char* no_color, const std::string& test_case) {
  std::array<int, 2> ends;
  REQUIRE(pipe(ends.data()) == 0);
  const int child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    become_writer(no_color, test_case);
  }
  close(ends[1]);
  output = ends[0];
  return child;
}

int start_in_terminal(int& output, const char* no_color, const std::string& test_case) {
  const int child = forkpty(&output, nullptr, nullptr, nullptr);
  if (child == 0) become_writer(no_color, test_case);
  return child;
}

// Returns the stderr of a process that logs.
std::string run_writer(Output kind, const char* no_color, const std::string& test_case = "writer of lines") {
  std::filesystem::remove(log_file());
  int output = -1;
  const int child = kind == Output::pipe ? start_in_pipe(output, no_color, test_case)
                                         : start_in_terminal(output, no_color, test_case);
  REQUIRE(child > 0);
  std::string text;
  std::array<char, 4096> chunk;
  ssize_t count = 0;
  while ((count = read(output, chunk.data(), chunk.size())) > 0) text.append(chunk.data(), static_cast<size_t>(count));
  close(output);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  return text;
}

std::string read_log_file() {
  std::ostringstream text;
  text << std::ifstream(log_file()).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("writer of lines" * doctest::skip()) {
  log_debug("debugged");
  log_info("before the file");
  log_warning("{} is no format");
  open_log_file(std::getenv(kWrittenFile));
  log_info("after the file");
  log_error("broken");
  flush_log();
}

TEST_CASE("writer of a rank" * doctest::skip()) {
  log_errors_only("rank 1");
  log_warning("rank 0 also prints this");
  log_warning_of_any_rank("only rank 1 is slow");
  log_error("broken");
  flush_log();
}

TEST_CASE("writer of hostile texts" * doctest::skip()) {
  open_log_file(std::getenv(kWrittenFile));
  std::mt19937 random(8);
  for (int i = 0; i < kHostileTexts; ++i) log_warning(make_hostile_text(random));
  flush_log();
}

TEST_CASE("no text forges a line of log.txt or of the terminal, or is obeyed by a terminal") {
  const std::string printed = run_writer(Output::pipe, nullptr, "writer of hostile texts");
  const std::string logged = read_log_file();
  const std::regex begin(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} warning: .*)");
  int messages = 0, terminal_messages = 0;
  std::istringstream log_lines(logged), terminal_lines(printed);
  for (std::string line; std::getline(log_lines, line);) {
    const bool continues = line.empty() || line[0] == ' ' || line[0] == '\t';
    if (!continues) CHECK(std::regex_match(line, begin));
    messages += !continues;
  }
  for (std::string line; std::getline(terminal_lines, line);) {
    const bool continues = line.empty() || line[0] == ' ' || line[0] == '\t';
    if (!continues) CHECK(line.starts_with("warning: "));
    terminal_messages += !continues;
  }
  CHECK(messages == kHostileTexts);
  CHECK(terminal_messages == kHostileTexts);
  CHECK(find_unsafe(logged) == "");
  CHECK(find_unsafe(printed) == "");
}

TEST_CASE("writer of a long line" * doctest::skip()) {
  const winsize size{24, 30, 0, 0};
  REQUIRE(ioctl(STDERR_FILENO, TIOCSWINSZ, &size) == 0);
  std::fputs("epoch 1/2 a bar", stderr);
  log_warning("one two three four five six seven");
  log_error("one two three four five six seven");
  flush_log();
}

TEST_CASE("a terminal shows a warning in place of a progress bar, and wraps it at blanks") {
  CHECK(run_writer(Output::terminal, "1", "writer of a long line") ==
        "epoch 1/2 a bar\r\033[Kwarning: one two three four\r\n  five six seven\r\n"
        "\r\033[Kerror: one two three four five six seven\r\n");
}

TEST_CASE("a rank other than 0 prints errors, and warnings about itself") {
  CHECK(run_writer(Output::pipe, nullptr, "writer of a rank") ==
        "warning: rank 1: only rank 1 is slow\nerror: rank 1: broken\n");
}

TEST_CASE("stderr gets warnings and errors as plain lines") {
  CHECK(run_writer(Output::pipe, nullptr) == "warning: {} is no format\nerror: broken\n");
}

TEST_CASE("a terminal gets colours") {
  const std::string text = run_writer(Output::terminal, nullptr);
  CHECK(std::regex_search(text, std::regex("\x1b\\[[0-9;m\x1b\\[]*warning\x1b\\[m: \\{\\} is no format")));
}

TEST_CASE("NO_COLOR turns colours off, unless it is empty") {
  const std::string plain = run_writer(Output::terminal, "1");
  CHECK(plain.find("warning: {} is no format") != plain.npos);
  const std::regex colour("\x1b\\[[0-9;]*m");
  CHECK_FALSE(std::regex_search(plain, colour));
  CHECK(std::regex_search(run_writer(Output::terminal, ""), colour));
}

TEST_CASE("the file gets every line with its time, starting with the lines before it was opened") {
  run_writer(Output::pipe, nullptr);
  const std::string time = R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} )";
  const std::string expected = time + "debug: debugged\n" + time + "info: before the file\n" + time +
                               "warning: \\{\\} is no format\n" + time + "info: after the file\n" + time +
                               "error: broken\n";
  CHECK(std::regex_match(read_log_file(), std::regex(expected)));
}

TEST_CASE("a log file that cannot be opened is an error with its path") {
  const auto file = tenon::test_folder() / "abc.txt" / "log.txt";
  std::ofstream(file.parent_path()) << "not a folder";
  try {
    open_log_file(file);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::system);
    CHECK(std::string(error.what()).find(file.string()) == 0);
  }
}

}  // namespace tenon::support
