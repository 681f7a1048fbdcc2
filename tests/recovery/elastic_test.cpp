// Runs that continue with fewer processes after losses, and with more after a checkpoint.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

// An epoch has 287 samples: 12 steps with one process, 4 with three.
constexpr const char* kRunFile = R"([run]
deterministic = true
threads = 1
[model]
use = "mlp"
params = { hidden = [16] }
[data]
batch_size = 24
workers = 0
[data.train]
use = "digits"
subset = "20%"
[[loss]]
use = "cross_entropy"
[train]
epochs = 1000000
[checkpoint]
every = "2 steps"
asynchronous = false
[log]
tensorboard = false
[optimizer]
use = "adamw"
lr = 0.01
[distributed]
timeout_s = 60
[[callback]]
use = "faulty"
)";

std::vector<std::string> arguments_of(const std::string& faulty, const std::vector<std::string>& more) {
  const fs::path file = write_file(tenon::test_folder() / "elastic.toml", kRunFile);
  return joined({"--config", file.string(), "--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/faulty", "--set",
                 "run.name=\"elastic\"", "--set", "run.output_dir=\"" + tenon::test_folder().string() + "\"", "--set",
                 "callback.0.params=" + faulty},
                more);
}

// Returns the newest run. A run that was killed before its first checkpoint cannot be resumed.
fs::path newest_run() {
  const std::vector<fs::path> runs(fs::directory_iterator(tenon::test_folder() / "elastic"), {});
  REQUIRE(!runs.empty());
  return *std::ranges::max_element(runs);
}

void check_each_epoch_ended_once() {
  std::vector<int> epochs, expected;
  for (const std::string& line : parts_of(read_history_without_times(newest_run()), '\n'))
    if (const auto event = nlohmann::json::parse(line); event["event"] == "epoch") epochs.push_back(event["epoch"]);
  REQUIRE(!epochs.empty());
  for (int epoch = 1; epoch <= epochs.back(); ++epoch) expected.push_back(epoch);
  CHECK(epochs == expected);
}

}  // namespace

// The runs are long, so that the launcher always comes to change the number of processes. The callback ends them.
TEST_CASE("a run that always loses its last process continues with fewer processes") {
  const Outcome outcome = run_host(arguments_of("{rank=2,how=\"kill\",where=\"start\"}",
                                                {"--processes", "1:3", "--restarts", "2", "--resume", "auto"}),
                                   "env TENON_TEST_FAULTY_LAST_ATTEMPT=4");
  // After a checkpoint three processes are tried again, and fail again.
  check_errors(outcome, 0,
               {"warning: restart 1 of 2: the run resumes from its newest checkpoint",
                "warning: restart 2 of 2, with 2 processes: ",
                "warning: the run restarts with 3 processes from its newest checkpoint",
                "warning: more processes failed again, with 2 processes: "});
  CHECK(contains(outcome.output, "this is the last attempt of the test"));
  check_each_epoch_ended_once();
}

TEST_CASE("a run that lost a process twice continues with all of them after the next checkpoint") {
  const Outcome outcome =
      run_host(arguments_of("{rank=1,how=\"kill\",where=\"environment\"}", {"--processes", "2:3", "--restarts", "2"}),
               "env TENON_TEST_FAULTY_STEP=3 TENON_TEST_FAULTY_ATTEMPTS=2 TENON_TEST_FAULTY_LAST_ATTEMPT=3");
  check_errors(
      outcome, 0,
      {"restart 2 of 2, with 2 processes: ",
       "the run had 3 processes and has 2 now, which share the remaining samples of epoch 1",
       "the run restarts with 3 processes from its newest checkpoint", "the run had 2 processes and has 3 now"});
  CHECK_FALSE(contains(outcome.errors, "failed again"));
  CHECK(contains(outcome.output, "this is the last attempt of the test"));
  check_each_epoch_ended_once();
}

TEST_CASE("a run with too many losses ends") {
  check_errors(run_host(arguments_of("{rank=0,how=\"kill\",where=\"start\"}",
                                     {"--processes", "2:3", "--restarts", "2", "--resume", "auto"})),
               6, {"restart 2 of 2, with 2 processes: "});
}

TEST_CASE("a run that torchrun restarts with more processes, with the same store, continues in its epoch") {
  const std::string checkpoints = (tenon::test_folder() / "elastic/*/checkpoints/latest").string();
  const Outcome outcome =
      run_host(arguments_of("{where=\"nowhere\"}", {"--resume", "auto", "--set", "run.threads=1"}),
               "timeout -s KILL 200 " TENON_SOURCE_DIR "/tests/recovery/run_as_elastic_torchrun.sh " TENON_BINARY_DIR
               "/tests/bin/agent_store '" +
                   checkpoints + "'");
  check_errors(outcome, 0, {"the run had 2 processes and has 3 now"});
  CHECK(contains(outcome.output, "this is the last attempt of the test"));
  check_each_epoch_ended_once();
}

TEST_CASE("a range of processes that cannot be used is refused") {
  const auto refused = [](const std::vector<std::string>& more, const std::string& message) {
    check_errors(run_host(arguments_of("{where=\"nowhere\"}", more)), 2, {message});
  };
  refused({"--processes", "2:3"},
          "--processes is 2:3, but a lost process ends the run without --restarts; expected --restarts N");
  refused({"--processes", "3:2", "--restarts", "1"}, "--processes is 3:2; expected the least number first: 2:3");
  refused({"--processes", "0:2", "--restarts", "1"}, "--processes is 0:2; expected at least 1");
  for (const std::string text : {"2:", ":2", "two", "2:3:4"})
    refused({"--processes=" + text, "--restarts", "1"},
            "--processes is \"" + text + "\"; expected a number such as 4, or the least and the most such as 2:4");
}
