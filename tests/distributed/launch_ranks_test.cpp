// Tests the launcher with processes that end, fail, hang or are killed.
#include "framework/distributed/launch/launch_ranks.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "framework/distributed/launch/process_state.h"
#include "tests/distributed/launched_run.h"

namespace tenon::distributed {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

using Lines = std::vector<std::string>;

void check(const LaunchedOutcome& outcome, int exit_code, const std::string& errors = "") {
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.errors == errors);
}

// Sends the signal to the launcher once all ranks handle signals.
LaunchedOutcome finish_after(int signal, LaunchedRun& run) {
  run.await_ready();
  kill(run.pid(), signal);
  return run.finish();
}

}  // namespace

TEST_CASE("a run of successful processes succeeds without output") {
  const LaunchedOutcome outcome = launch(3, {});
  check(outcome, 0);
  CHECK(outcome.output.empty());
}

TEST_CASE("each process has its rank and the requested number of threads") {
  const std::vector<std::string> ranks{"0=describe", "1=describe", "2=describe"};
  CHECK(lines_of(launch(3, ranks, 60, {{"TEST_OMP_THREADS", "5"}, {"OMP_NUM_THREADS", "7"}}).output) ==
        Lines{"[rank 1] launcher 1 rank 1 of 3, local 1 of 3, attempt 0, threads 5",
              "[rank 2] launcher 1 rank 2 of 3, local 2 of 3, attempt 0, threads 5",
              "launcher 1 rank 0 of 3, local 0 of 3, attempt 0, threads 5"});
  CHECK(launch(1, ranks, 60, {{"OMP_NUM_THREADS", "7"}}).output ==
        "launcher 1 rank 0 of 1, local 0 of 1, attempt 0, threads 7\n");
}

TEST_CASE("only rank 0 has the standard input") {
  CHECK(lines_of(launch(2, {"0=describe_input", "1=describe_input"}).output) ==
        Lines{"[rank 1] input ended", "input given"});
}

TEST_CASE("rank 0 inherits a socket on loopback that the others reach and that closes with rank 0") {
  const LaunchedOutcome outcome = launch(2, {"0=describe_socket,await_end:1", "1=connect"});
  CHECK(outcome.exit_code == 0);
  const Lines lines = lines_of(outcome.output);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("127.0.0.1:"));
  CHECK(lines[0].ends_with(" listens"));
  CHECK(lines[1] == "[rank 1] connected 1");
  // The launcher is still running, but the port is closed.
  CHECK(launch(2, {"1=await_end:0,await_refusal,print:refused"}).output == "[rank 1] refused\n");
}

TEST_CASE("a process may succeed long before the others") {
  const LaunchedOutcome outcome = launch(2, {"1=await_end:0,wait:300,print:late"}, 0);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == "[rank 1] late\n");
}

TEST_CASE("the exit code is that of the failed process, also if other ranks exited earlier because of it") {
  const LaunchedOutcome outcome = launch(3, {"0=exit:6", "1=await_end:0,print_error:bad data,exit:4", "2=exit:6"});
  CHECK(outcome.exit_code == 4);
  CHECK(lines_of(outcome.errors) ==
        Lines{"[rank 1] bad data", "error: rank 1 ended with exit code 4; the others ended by themselves"});
}

TEST_CASE("if all processes ended with the same exit code, no message follows theirs") {
  check(launch(2, {"0=exit:2", "1=await_end:0,print_error:no such key,exit:2"}), 2, "[rank 1] no such key\n");
  CHECK(launch(2, {"0=exit:2", "1=await_end:0,exit:3"}).errors ==
        "error: rank 0 ended with exit code 2; the other ended by itself\n");
}

TEST_CASE("the first of two failed processes determines the exit code") {
  CHECK(launch(2, {"0=await_end:1,exit:3", "1=exit:5"}).exit_code == 5);
  CHECK(launch(2, {"1=await_end:0,exit:3", "0=exit:5"}).exit_code == 5);
}

TEST_CASE("a process ended by a signal is named with the signal, and the exit code is that of a lost process") {
  check(launch(3, {"0=await_end:1,exit:6", "1=kill:9", "2=await_end:1,exit:6"}), 6,
        "error: rank 1 was ended by SIGKILL (signal 9), which the kernel also sends when it runs out of memory; the "
        "others ended by themselves\n");
  CHECK(launch(2, {"0=kill:11", "1=await_end:0,exit:6"}).errors ==
        "error: rank 0 was ended by SIGSEGV (signal 11); the other ended by itself\n");
}

TEST_CASE("if all processes lost another one, the message states this") {
  check(launch(2, {"0=exit:6", "1=await_end:0,exit:6"}), 6,
        "error: rank 0 ended because a rank did not answer or was lost (exit code 6), see its message; the other ended "
        "by itself\n");
}

TEST_CASE("processes that do not notice a failure are killed") {
  check(launch(4, {"0=hang", "1=hang", "2=exit:7", "3=await_end:2,exit:6"}, 0.3), 7,
        "error: rank 2 ended with exit code 7; ranks 0 and 1, which did not end by themselves, were ended\n");
  CHECK(launch(2, {"0=exit:6", "1=hang"}, 0.1).errors ==
        "error: rank 0 ended because a rank did not answer or was lost (exit code 6), see its message; the other was "
        "ended\n");
}

// A debugger stops a process in the same way. No signal but SIGKILL ends it.
TEST_CASE("a stopped process is named and killed as soon as another one has lost it") {
  for (const int stopped : {0, 1}) {
    const std::string rank = std::to_string(stopped), other = std::to_string(1 - stopped);
    LaunchedRun run(2, {rank + "=stop", other + "=await_stop:" + rank + ",exit:6"}, /*patience_s=*/3600);
    check(run.finish(), 6,
          "error: rank " + rank +
              " does not answer; it is stopped (state T), as by SIGSTOP, and was ended; the other "
              "ended by itself\n");
    CHECK(run.are_all_ranks_gone());
  }
}

TEST_CASE("a stopped process is not the cause if another one failed") {
  check(launch(3, {"0=stop", "1=await_stop:0,exit:3", "2=await_end:1,exit:6"}, 3600), 3,
        "error: rank 1 ended with exit code 3; rank 0, which did not end by itself, was ended\n");
}

TEST_CASE("a stopped process continues after a stop request, so that the run ends in order") {
  LaunchedRun run(2, {"0=stop_when_requested", "1=stop_when_requested"});
  run.await_ready();
  const pid_t process = std::stoi(read_text(run.folder() / "pid.0"));
  kill(process, SIGSTOP);
  while (!is_stopped(read_process_state(process))) usleep(2000);
  kill(run.pid(), SIGTERM);
  const LaunchedOutcome outcome = run.finish();
  check(outcome, 128 + SIGTERM);
  CHECK(lines_of(outcome.output) == Lines{"[rank 1] signal 15, 1 times", "signal 15, 1 times"});
}

TEST_CASE("a stop request is forwarded to every process and is not a failure") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    LaunchedRun run(3, {"0=stop_when_requested", "1=stop_when_requested", "2=stop_when_requested"}, 0);
    const LaunchedOutcome outcome = finish_after(signal, run);
    check(outcome, 128 + signal);
    const std::string line = "signal " + std::to_string(signal) + ", 1 times";
    CHECK(lines_of(outcome.output) == Lines{"[rank 1] " + line, "[rank 2] " + line, line});
    CHECK(run.are_all_ranks_gone());
  }
}

TEST_CASE("a stop request to the whole group counts once") {
  LaunchedRun run(2, {"0=stop_when_requested", "1=stop_when_requested"});
  run.await_ready();
  kill(-run.pid(), SIGTERM);
  check(run.finish(), 128 + SIGTERM);
}

TEST_CASE("a stop request to only one process also ends the run in order") {
  LaunchedRun run(2, {"0=stop_when_requested", "1=await_end:0,exit:143"});
  run.await_file("ready.0");
  kill(std::stoi(read_text(run.folder() / "pid.0")), SIGTERM);
  check(run.finish(), 128 + SIGTERM);
}

TEST_CASE("processes that do not handle signals yet end immediately on a stop request") {
  LaunchedRun run(2, {"0=touch:ready.0,wait:60000", "1=touch:ready.1,wait:60000"});
  check(finish_after(SIGINT, run), 128 + SIGINT);
}

TEST_CASE("a second stop request one second later kills all processes") {
  LaunchedRun run(2, {"0=hang", "1=hang"});
  run.await_ready();
  // The first request counts. Others are ignored during the following second.
  while (!run.has_ended()) {
    kill(run.pid(), SIGTERM);
    usleep(200'000);
  }
  check(run.finish(), 128 + SIGTERM);
  CHECK(run.are_all_ranks_gone());
}

TEST_CASE("a failure after a stop request is a failure") {
  LaunchedRun run(2, {"0=stop_when_requested", "1=ignore_signals,touch:ready.1,await_end:0,exit:5"});
  check(finish_after(SIGTERM, run), 5, "error: rank 1 ended with exit code 5; the other ended by itself\n");
}

TEST_CASE("no process remains if the launcher is killed") {
  LaunchedRun run(3, {"0=hang", "1=hang", "2=hang"});
  CHECK(finish_after(SIGKILL, run).exit_code == 128 + SIGKILL);
  CHECK(run.are_all_ranks_gone());
}

TEST_CASE("ranks are stopped after a checkpoint that they report, so that they can be started again") {
  const std::map<std::string, std::string> second{{"TEST_RESTARTS_AFTER", "2"}};
  const std::string report =
      "0=handle_signals,await_file:ready.1,report_checkpoint,await_file:checkpoint.1,report_checkpoint,"
      "stop_when_requested";
  const LaunchedOutcome stopped = launch(2, {report, "1=stop_when_requested"}, 60, second);
  check(stopped, 128 + SIGTERM, "stopped to restart\n");
  CHECK(lines_of(stopped.output) == Lines{"[rank 1] signal 15, 1 times", "signal 15, 1 times"});
  // A rank that fails while it stops.
  const LaunchedOutcome failed = launch(2, {report, "1=touch:ready.1,await_file:checkpoint.2,kill:9"}, 60, second);
  CHECK(failed.exit_code == 6);
  CHECK(failed.errors.find("stopped to restart") == std::string::npos);
  // Ranks that end before they get the signal.
  const LaunchedOutcome ended =
      launch(1, {"0=ignore_signals,report_checkpoint,await_file:checkpoint.1"}, 60, {{"TEST_RESTARTS_AFTER", "1"}});
  check(ended, 0);
}

TEST_CASE("a stop that is requested during such a restart ends the run") {
  const std::string stop = "await_file:interrupted,stop_when_requested";
  LaunchedRun run(
      2, {"0=handle_signals,await_file:ready.1,report_checkpoint," + stop, "1=handle_signals,touch:ready.1," + stop},
      60, {{"TEST_RESTARTS_AFTER", "1"}});
  run.await_file("checkpoint.1");
  kill(run.pid(), SIGINT);
  std::ofstream(run.folder() / "interrupted") << "";
  check(run.finish(), 128 + SIGINT);
}

TEST_CASE("ranks know whether the launcher acts on their checkpoints, and a report without need changes nothing") {
  CHECK(launch(1, {"0=describe_reports"}, 60, {{"TEST_RESTARTS_AFTER", "9"}}).output == "reports 1\n");
  CHECK(launch(1, {"0=describe_reports,report_checkpoint"}, 60, {{"TENON_REPORTS_CHECKPOINTS", "1"}}).output ==
        "reports 0\n");
}

}  // namespace tenon::distributed
