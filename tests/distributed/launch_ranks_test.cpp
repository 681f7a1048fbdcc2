// The launcher with processes that end, fail, hang and are killed.
#include "framework/distributed/launch_ranks.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>

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

}  // namespace

TEST_CASE("a run whose processes all end well ends well and says nothing") {
  const LaunchedOutcome outcome = launch(3, {});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.empty());
  CHECK(outcome.errors.empty());
}

TEST_CASE("each process knows its rank, and has its share of threads where asked") {
  const std::vector<std::string> ranks{"0=describe", "1=describe", "2=describe"};
  CHECK(lines_of(launch(3, ranks, 60, {{"TEST_OMP_THREADS", "5"}, {"OMP_NUM_THREADS", "7"}}).output) ==
        Lines{"[rank 1] launcher 1 rank 1 of 3, local 1 of 3, attempt 0, threads 5",
              "[rank 2] launcher 1 rank 2 of 3, local 2 of 3, attempt 0, threads 5",
              "launcher 1 rank 0 of 3, local 0 of 3, attempt 0, threads 5"});
  CHECK(launch(1, ranks, 60, {{"OMP_NUM_THREADS", "7"}}).output ==
        "launcher 1 rank 0 of 1, local 0 of 1, attempt 0, threads 7\n");
}

TEST_CASE("rank 0 alone has the standard input") {
  CHECK(lines_of(launch(2, {"0=describe_input", "1=describe_input"}).output) ==
        Lines{"[rank 1] input ended", "input given"});
}

TEST_CASE("rank 0 is handed a socket on loopback that the others reach, and that goes with it") {
  const LaunchedOutcome outcome = launch(2, {"0=describe_socket,await_end:1", "1=connect"});
  CHECK(outcome.exit_code == 0);
  const Lines lines = lines_of(outcome.output);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("127.0.0.1:"));
  CHECK(lines[0].ends_with(" listens"));
  CHECK(lines[1] == "[rank 1] connected 1");
  // The launcher is still there, and the port is not.
  CHECK(launch(2, {"1=await_end:0,await_refusal,print:refused"}).output == "[rank 1] refused\n");
}

TEST_CASE("a process that ends well may do so long before the others") {
  const LaunchedOutcome outcome = launch(2, {"1=await_end:0,wait:300,print:late"}, 0);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == "[rank 1] late\n");
}

TEST_CASE("the exit code is that of the process that failed, also where others noticed before") {
  const LaunchedOutcome outcome = launch(3, {"0=exit:6", "1=await_end:0,print_error:bad data,exit:4", "2=exit:6"});
  CHECK(outcome.exit_code == 4);
  CHECK(lines_of(outcome.errors) ==
        Lines{"[rank 1] bad data", "error: rank 1 ended with exit code 4; the others ended by themselves"});
}

TEST_CASE("of two processes that failed the first one counts") {
  CHECK(launch(2, {"0=await_end:1,exit:3", "1=exit:5"}).exit_code == 5);
  CHECK(launch(2, {"1=await_end:0,exit:3", "0=exit:5"}).exit_code == 5);
}

TEST_CASE("a process that a signal ended is named with it, and the code says that it was lost") {
  const LaunchedOutcome outcome = launch(3, {"0=await_end:1,exit:6", "1=kill:9", "2=await_end:1,exit:6"});
  CHECK(outcome.exit_code == 6);
  CHECK(outcome.errors ==
        "error: rank 1 was ended by SIGKILL (signal 9), which is also what the kernel does where memory runs out; the "
        "others ended by themselves\n");
  CHECK(launch(2, {"0=kill:11", "1=await_end:0,exit:6"}).errors ==
        "error: rank 0 was ended by SIGSEGV (signal 11); the other ended by itself\n");
}

TEST_CASE("where all processes lost another one, that is what is said") {
  const LaunchedOutcome outcome = launch(2, {"0=exit:6", "1=await_end:0,exit:6"});
  CHECK(outcome.exit_code == 6);
  CHECK(outcome.errors ==
        "error: rank 0 lost another rank (exit code 6), and none ended otherwise; the other ended by itself\n");
}

TEST_CASE("processes that do not notice that another failed are ended") {
  const LaunchedOutcome outcome = launch(4, {"0=hang", "1=hang", "2=exit:7", "3=await_end:2,exit:6"}, 0.3);
  CHECK(outcome.exit_code == 7);
  CHECK(outcome.errors ==
        "error: rank 2 ended with exit code 7; ranks 0 and 1, which did not end by themselves, were ended\n");
  CHECK(launch(2, {"0=exit:6", "1=hang"}, 0.1).errors ==
        "error: rank 0 lost another rank (exit code 6), and none ended otherwise; the other was ended\n");
}

TEST_CASE("a request to stop is passed on to every process and is no failure") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    LaunchedRun run(3, {"0=stop_when_asked", "1=stop_when_asked", "2=stop_when_asked"}, 0);
    run.await_ready();
    kill(run.pid(), signal);
    const LaunchedOutcome outcome = run.finish();
    CHECK(outcome.exit_code == 128 + signal);
    const std::string line = "signal " + std::to_string(signal) + ", 1 times";
    CHECK(lines_of(outcome.output) == Lines{"[rank 1] " + line, "[rank 2] " + line, line});
    CHECK(outcome.errors.empty());
    CHECK(run.are_all_ranks_gone());
  }
}

TEST_CASE("a request that the whole group gets is one request") {
  LaunchedRun run(2, {"0=stop_when_asked", "1=stop_when_asked"});
  run.await_ready();
  kill(-run.pid(), SIGTERM);
  const LaunchedOutcome outcome = run.finish();
  CHECK(outcome.exit_code == 128 + SIGTERM);
  CHECK(outcome.errors.empty());
}

TEST_CASE("a request that only one process is sent ends the run in order too") {
  LaunchedRun run(2, {"0=stop_when_asked", "1=await_end:0,exit:143"});
  run.await_file("ready.0");
  kill(std::stoi(read_text(run.folder() / "pid.0")), SIGTERM);
  const LaunchedOutcome outcome = run.finish();
  CHECK(outcome.exit_code == 128 + SIGTERM);
  CHECK(outcome.errors.empty());
}

TEST_CASE("processes that have not begun to listen to signals end at once when asked") {
  LaunchedRun run(2, {"0=touch:ready.0,wait:60000", "1=touch:ready.1,wait:60000"});
  run.await_ready();
  kill(run.pid(), SIGINT);
  const LaunchedOutcome outcome = run.finish();
  CHECK(outcome.exit_code == 128 + SIGINT);
  CHECK(outcome.errors.empty());
}

TEST_CASE("a second request, a second later, ends all processes at once") {
  LaunchedRun run(2, {"0=hang", "1=hang"});
  run.await_ready();
  // The first one counts, and the others do not before its second is over.
  while (!run.has_ended()) {
    kill(run.pid(), SIGTERM);
    usleep(200'000);
  }
  const LaunchedOutcome outcome = run.finish();
  CHECK(outcome.exit_code == 128 + SIGTERM);
  CHECK(outcome.errors.empty());
  CHECK(run.are_all_ranks_gone());
}

TEST_CASE("a failure after a request to stop is a failure") {
  LaunchedRun run(2, {"0=stop_when_asked", "1=ignore_signals,touch:ready.1,await_end:0,exit:5"});
  run.await_ready();
  kill(run.pid(), SIGTERM);
  const LaunchedOutcome outcome = run.finish();
  CHECK(outcome.exit_code == 5);
  CHECK(outcome.errors == "error: rank 1 ended with exit code 5; the other ended by itself\n");
}

TEST_CASE("no process is left where the launcher is killed") {
  LaunchedRun run(3, {"0=hang", "1=hang", "2=hang"});
  run.await_ready();
  kill(run.pid(), SIGKILL);
  CHECK(run.finish().exit_code == 128 + SIGKILL);
  CHECK(run.are_all_ranks_gone());
}

}  // namespace tenon::distributed
