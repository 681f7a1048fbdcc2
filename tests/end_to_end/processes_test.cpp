// Tests which launchers and commands may use several processes of host.
#include <doctest/doctest.h>
#include <sched.h>

#include "tests/end_to_end/hosted_run.h"

namespace processes_test {

using namespace tenon::end_to_end;

namespace {

const std::string kRunFile = TENON_SOURCE_DIR "/configs/digits.toml";

void check_refused(const std::vector<std::string>& arguments, const std::string& variables,
                   const std::string& message) {
  check_errors(run_host(arguments, "env " + variables), 2, {message});
}

// A core that this process may use.
int find_allowed_core() {
  cpu_set_t cores;
  REQUIRE(sched_getaffinity(0, sizeof cores, &cores) == 0);
  int core = 0;
  while (!CPU_ISSET(core, &cores)) ++core;
  return core;
}

const std::string kTorchrun =
    "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500";

}  // namespace

TEST_CASE("an invalid number of processes is refused") {
  check_refused({"--config", kRunFile, "--processes", "0"}, "", "command line: --processes is 0; expected at least 1");
  check_refused({"--config", kRunFile, "--processes", "many"}, "", "command line: ");
  check_refused({"--config", kRunFile, "--processes", "5000"}, "",
                "distributed.processes is 5000; expected an integer");
  check_refused({"overfit", "--config", kRunFile, "--processes", "2"}, "", "unknown option --processes");
}

TEST_CASE("a second launcher is refused") {
  check_refused({"--config", kRunFile, "--processes", "2"}, kTorchrun,
                "command line: --processes is 2, and torchrun has started 2 already");
}

TEST_CASE("an invalid environment is refused before any work") {
  check_refused({"--config", kRunFile}, "RANK=3 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1",
                "environment: RANK is \"3\" and WORLD_SIZE is \"2\"");
  check_refused({"--config", kRunFile}, "RANK=0", "environment: WORLD_SIZE is not set");
}

TEST_CASE("commands other than training, evaluation and prediction run as one process") {
  const std::vector<std::vector<std::string>> commands = {
      {"overfit"}, {"lr-find"}, {"verify-resume"}, {"generate"}, {"pack", "--data", "train", "--output", "out"}};
  for (std::vector<std::string> command : commands) {
    const std::string name = command[0];
    command.insert(command.end(), {"--config", kRunFile});
    check_refused(command, kTorchrun, "environment: host " + name + " is one of 2 processes that torchrun has started");
  }
}

TEST_CASE("one process of a machine prepares the data before any process creates the dataset") {
  const std::filesystem::path folder = make_empty_folder("prepared");
  const std::string dataset = "{use=\"prepared\", params={path=\"" + (folder / "data").string() + "\", seconds=3.0}}";
  require_success(run_host({"--config", kRunFile, "--processes", "3", "--plugin-dir",
                            TENON_BINARY_DIR "/tests/fixtures/plugins/prepared", "--set", "data.train=" + dataset,
                            "--set", "distributed.timeout_s=2", "--set", "train={steps=2}", "--set",
                            "run.output_dir=\"" + (folder / "runs").string() + "\""}));
  CHECK(read_file(folder / "data/calls") == "call\n");

  require_success(
      run_host({"data", "--config", kRunFile, "--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/prepared",
                "--set", "data.train={use=\"prepared\", params={path=\"" + (folder / "new").string() + "\"}}"}));
  CHECK(read_file(folder / "new/calls") == "call\n");
}

TEST_CASE("more processes than cores cause a warning") {
  const std::filesystem::path folder = make_empty_folder("few_cores");
  const auto train = [&](const std::string& processes) {
    const Outcome outcome =
        require_success(run_host({"--config", kRunFile, "--processes", processes, "--set", "train={steps=1}", "--set",
                                  "run.output_dir=\"" + (folder / "runs").string() + "\""},
                                 "taskset --cpu-list " + std::to_string(find_allowed_core())));
    return outcome.errors;
  };
  CHECK(train("2") ==
        "warning: distributed.processes is 2, and this machine has 1 usable core; expected a core for each process, or "
        "more: processes that share a core take turns, so the run is slower than with --processes 1\n");
  CHECK(train("1") == "");
}

TEST_CASE("--check uses one process for any number of processes of the run") {
  const Outcome outcome = require_success(run_host({"--config", kRunFile, "--processes", "3", "--check"}));
  CHECK(outcome.output.find("[distributed]\nprocesses = 3\n") != std::string::npos);
  CHECK(outcome.output.find("[run]") == outcome.output.rfind("[run]"));
}

}  // namespace processes_test
