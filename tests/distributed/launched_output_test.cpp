// Tests the output of a run with several processes. No process may wait for the reader of the output.
#include <doctest/doctest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "framework/distributed/launch/launch_ranks.h"
#include "framework/distributed/launch/rank_output.h"
#include "tests/distributed/launched_run.h"
#include "tests/test_folder.h"

namespace tenon::distributed {
namespace {

// Starts launched_program in a shell, so that its output can be redirected: "| head -c 1".
LaunchedOutcome launch_in_shell(const std::string& arguments, const std::string& rest) {
  const auto folder = tenon::test_folder() / "in_shell";
  std::filesystem::create_directories(folder);
  const std::string command = "cd '" + folder.string() + "' && { '" TENON_LAUNCHED_PROGRAM "' " + arguments +
                              "; echo $? >code; } 2>errors " + rest;
  const int status = std::system(command.c_str());
  CHECK(status == 0);
  return {std::stoi(read_text(folder / "code")), read_text(folder / "output"), read_text(folder / "errors")};
}

}  // namespace

TEST_CASE("lines are prefixed as they are completed") {
  PrefixedLines lines("> ");
  CHECK(lines.add("one\ntw") == "> one\n");
  CHECK(lines.add("") == "");
  CHECK(lines.add("o\n\nthree") == "> two\n> \n");
  CHECK(lines.finish() == "> three\n");
  CHECK(lines.finish() == "");
}

TEST_CASE("a line that is too long is split") {
  const std::string longest(PrefixedLines::kMaxLineLength, 'x');
  PrefixedLines lines("> ");
  CHECK(lines.add(longest + "yz") == "> " + longest + "\n");
  CHECK(lines.add("\n") == "> yz\n");
}

TEST_CASE("standard output and error stay separate, and lines of ranks other than 0 have a prefix") {
  const LaunchedOutcome outcome = launch(2, {"0=print:zero,print_error:oh", "1=await_end:0,print:one,print_error:no"});
  CHECK(outcome.output == "zero\n[rank 1] one\n");
  CHECK(outcome.errors == "oh\n[rank 1] no\n");
}

TEST_CASE("a last line without a line feed and a long line are complete") {
  CHECK(launch(2, {"1=print:one,print_unended:two"}).output == "[rank 1] one\n[rank 1] two\n");
  std::string output = launch(2, {"1=print_long:50000"}).output;
  CHECK(std::count(output.begin(), output.end(), '\n') == 4);
  CHECK(std::count(output.begin(), output.end(), 'x') == 50000);
}

TEST_CASE("output of a killed process is written") {
  CHECK(launch(2, {"1=print_unended:last words,flush,kill:9"}).output == "[rank 1] last words\n");
}

TEST_CASE("many lines of many ranks are written without interleaving") {
  const LaunchedOutcome outcome = launch(3, {"1=print_lines:500", "2=print_lines:500"});
  std::map<std::string, int> next;
  size_t torn = 0;
  std::istringstream stream(outcome.output);
  for (std::string line; std::getline(stream, line);) {
    const std::string prefix = line.substr(0, 8);
    const bool is_whole = line == prefix + " line " + std::to_string(next[prefix]++) + " " + std::string(1000, 'x');
    torn += is_whole ? 0 : 1;
  }
  CHECK(torn == 0);
  CHECK(next == std::map<std::string, int>{{"[rank 1]", 500}, {"[rank 2]", 500}});
}

TEST_CASE("a process does not wait for the reader, and no line is lost that fits into the backlog") {
  // The reader starts after the rank has written 10 MB and ended.
  const LaunchedOutcome outcome = launch_in_shell("2 60 '1=print_lines:10000,flush,touch:written'",
                                                  "| { while ! [ -e written ]; do sleep 0.01; done; cat >output; }");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
  CHECK(outcome.output.starts_with("[rank 1] line 0 x"));
  CHECK(outcome.output.size() > 3'000'000);
  CHECK(outcome.output.size() < 6'000'000);
  const size_t last = outcome.output.rfind('\n', outcome.output.size() - 2) + 1;
  CHECK(outcome.output.substr(last).find(" lines were dropped here") != std::string::npos);
}

TEST_CASE("a reader that exits ends no process") {
  const LaunchedOutcome outcome = launch_in_shell("2 60 '1=print_lines:1000,touch:written'", "| head -c 1 >output");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == "[");
  CHECK(std::filesystem::exists(tenon::test_folder() / "in_shell/written"));
}

TEST_CASE("closed standard streams are not reused as pipes of the launcher") {
  const LaunchedOutcome outcome =
      launch_in_shell("2 60 0=print:zero '1=await_end:0,print:one' <&- >&-", "&& touch output");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
}

TEST_CASE("a program that outlives its rank does not prevent the end of the run") {
  LaunchedRun run(2, {"1=print:one,flush,leave_child"});
  const LaunchedOutcome outcome = run.finish();
  kill(std::stoi(read_text(run.folder() / "child")), SIGKILL);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == "[rank 1] one\n");
}

TEST_CASE("Ctrl-C reaches each process once") {
  const auto folder = tenon::test_folder() / "terminal";
  std::filesystem::create_directories(folder);
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(pid >= 0);
  if (pid == 0) {
    if (chdir(folder.c_str()) == 0)
      execl(TENON_LAUNCHED_PROGRAM, "launched_program", "2", "60", "0=stop_when_requested", "1=stop_when_requested",
            nullptr);
    _exit(127);
  }
  for (const char* name : {"ready.0", "ready.1"}) REQUIRE(await_path(folder / name));
  CHECK(write(terminal, "\x03", 1) == 1);
  std::string output;
  char bytes[256];
  for (ssize_t length; (length = read(terminal, bytes, sizeof bytes)) > 0;)
    output.append(bytes, static_cast<size_t>(length));
  int status = 0;
  waitpid(pid, &status, 0);
  close(terminal);
  CAPTURE(output);
  CHECK(WEXITSTATUS(status) == 128 + SIGINT);
  const std::string once = "signal 2, 1 times";
  CHECK(output.find("[rank 1] " + once) != std::string::npos);
  CHECK(output.find(once) != output.rfind(once));
}

}  // namespace tenon::distributed
