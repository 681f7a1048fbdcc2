// Tests that the host logs runs to a tracking server: complete, resumed, and with a server that is away.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/end_to_end/hosted_run.h"
#include "tests/mlflow/fake_tracking_server.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;
using namespace tenon::end_to_end;
using nlohmann::json;
using tenon::test::FakeTrackingServer;
using tenon::test::ReservedPort;

namespace {

constexpr const char* kRunFile = R"([run]
name = "logged"
deterministic = true
[model]
use = "mlp"
params = { hidden = [16] }
[data]
batch_size = 400
workers = 0
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
epochs = 3
[optimizer]
use = "sgd"
lr = 0.1
[log]
every = "1 step"
[checkpoint]
every = "3 steps"
[[callback]]
use = "mlflow"
)";

std::string environment(const std::string& uri) { return "env no_proxy='*' MLFLOW_TRACKING_URI=" + uri; }

std::string write_run_file(const std::string& params = "", const std::string& more = "") {
  return write_file(tenon::test_folder() / "run.toml", kRunFile + params + "\n" + more).string();
}

fs::path run_folder() { return find_run_folder(tenon::test_folder() / "runs", "logged"); }

using Value = std::tuple<std::string, int64_t, std::string>;  // metric, step, value

std::string print_value(const json& value) {
  if (value.is_string()) return value;
  char text[40];
  std::snprintf(text, sizeof text, "%a", value.get<double>());
  return text;
}

// The values of history.jsonl with the names in MLflow.
std::multiset<Value> read_history_values() {
  std::multiset<Value> values;
  std::ifstream stream(run_folder() / "history.jsonl");
  for (std::string text; std::getline(stream, text);) {
    const json line = json::parse(text);
    for (const auto& [name, value] : line.items()) {
      if (name == "event" || name == "epoch" || name == "step" || name == "time_s") continue;
      const bool is_mean = line.at("event") == "epoch" && (name == "train/loss" || name == "train/cross_entropy");
      values.insert({name + (is_mean ? "_epoch" : ""), line.at("step"), print_value(value)});
    }
  }
  return values;
}

std::multiset<Value> read_logged_values(const FakeTrackingServer::Run& run) {
  std::multiset<Value> values;
  for (const auto& [key, step, time, value] : run.metrics) values.insert({key, step, print_value(json::parse(value))});
  return values;
}

// Whether the server has every value of the history, and no other. MLflow keeps a value once that two lines of a step
// have in the same millisecond, such as the learning rate at the end of an epoch.
bool has_history(const std::multiset<Value>& logged, const std::multiset<Value>& history) {
  return std::includes(history.begin(), history.end(), logged.begin(), logged.end()) &&
         std::set<Value>(logged.begin(), logged.end()) == std::set<Value>(history.begin(), history.end());
}
bool has_history(const FakeTrackingServer::Run& run) {
  return has_history(read_logged_values(run), read_history_values());
}

// Without the values of measured times, which differ when a step is repeated.
std::multiset<Value> without_times(const std::multiset<Value>& values) {
  std::multiset<Value> kept;
  for (const auto& [name, step, value] : values) kept.insert({name, step, name.ends_with("_s") ? "a time" : value});
  return kept;
}

const FakeTrackingServer::Run& only_run(const FakeTrackingServer& server) {
  REQUIRE(server.runs.size() == 1);
  return server.runs.begin()->second;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a run is logged with the values of its history, its settings and its files") {
  const FakeTrackingServer server;
  const std::string file = write_run_file("params = { artifacts = [\"plan.toml\", \"report.html\", \"plots/*\"] }",
                                          "[[callback]]\nuse = \"throughput\"\n[data.test]\nuse = \"digits\"\n"
                                          "params = { split = \"test\" }\n");
  const Outcome outcome = run_host({"--config", file}, environment(server.uri()));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.errors);
  const FakeTrackingServer::Run& run = only_run(server);
  CHECK(read_history_values().size() > 100);
  CHECK(has_history(run));
  CHECK(std::any_of(run.metrics.begin(), run.metrics.end(),
                    [](const auto& metric) { return std::get<0>(metric) == "test/loss"; }));
  CHECK(server.experiments.count("logged") == 1);
  CHECK(run.name == run_folder().filename());
  CHECK(run.params.at("optimizer.lr") == "0.1");
  CHECK(run.params.at("loss.0.use") == "cross_entropy");
  CHECK(run.statuses == std::vector<std::string>{"FINISHED"});
  CHECK(run.artifacts.at("plan.toml") == read_file(run_folder() / "plan.toml"));
  CHECK(run.artifacts.at("report.html") == read_file(run_folder() / "report.html"));
  CHECK(run.artifacts.size() > 2);
}

TEST_CASE("a killed and resumed run is one run with each value once") {
  const FakeTrackingServer server;
  const std::string file = write_run_file();
  CHECK(run_host({"killed-run", "--config", file, "--step", "8"}, environment(server.uri())).exit_code == 128 + 9);
  const Outcome outcome = run_host({"--config", file, "--resume", "auto"}, environment(server.uri()));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.errors);
  const FakeTrackingServer::Run& run = only_run(server);
  CHECK(has_history(without_times(read_logged_values(run)), without_times(read_history_values())));
  CHECK(run.statuses == std::vector<std::string>{"RUNNING", "FINISHED"});
  CHECK(has(run.tags.at("tenon.resumed_from"), "step-"));
}

TEST_CASE("a run that resumes with other settings keeps the first ones as parameters") {
  const FakeTrackingServer server;
  const std::string file = write_run_file();
  REQUIRE(run_host({"--config", file}, environment(server.uri())).exit_code == 0);
  const Outcome outcome = run_host({"--config", file, "--set", "train.epochs=4", "--resume", run_folder().string()},
                                   environment(server.uri()));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.errors);
  const FakeTrackingServer::Run& run = only_run(server);
  CHECK(has_history(without_times(read_logged_values(run)), without_times(read_history_values())));
  CHECK(run.params.at("train.epochs") == "3");
  CHECK(run.tags.at("tenon.changed.train.epochs") == "4");
}

TEST_CASE("a run that resumes from an earlier checkpoint is another run with the values before it") {
  const FakeTrackingServer server;
  const std::string file = write_run_file("", "[[callback]]\nuse = \"throughput\"\n");
  REQUIRE(run_host({"--config", file, "--set", "checkpoint.keep=9"}, environment(server.uri())).exit_code == 0);
  const fs::path first = run_folder();
  const Outcome outcome = run_host({"--config", file, "--set", "checkpoint.keep=9", "--set", "run.output_dir='second'",
                                    "--resume", (first / "checkpoints/step-00000006").string()},
                                   environment(server.uri()));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.errors);
  REQUIRE(server.runs.size() == 2);
  fs::rename(tenon::test_folder() / "runs", tenon::test_folder() / "first");
  fs::rename(tenon::test_folder() / "second", tenon::test_folder() / "runs");
  CHECK(has_history(server.runs.at("run-1")));
}

TEST_CASE("a run without its server trains as usual, and host sync sends it later") {
  const ReservedPort port;
  const std::string uri = "http://127.0.0.1:" + std::to_string(port.number());
  const std::string file = write_run_file("params = { wait_s = 0.2 }");
  const Outcome outcome = run_host({"--config", file}, environment(uri));
  CHECK(outcome.exit_code == 0);
  CHECK(has(outcome.errors, uri + " does not take what the run logs: "));
  CHECK(has(outcome.errors, "send it with `host sync " + run_folder().string() + "`"));

  const Outcome early = run_host({"sync", run_folder().string()}, environment(uri));
  CHECK(early.exit_code != 0);
  CHECK(has(early.errors, uri + " does not have all of "));

  const FakeTrackingServer server(port.number());
  const Outcome sync = run_host({"sync", run_folder().string()}, environment(uri));
  CHECK_MESSAGE(sync.exit_code == 0, sync.errors);
  CHECK(sync.output == run_folder().string() + ": the callback mlflow has nothing left to do\n");
  CHECK(has_history(only_run(server)));
  CHECK(only_run(server).statuses == std::vector<std::string>{"FINISHED"});
  CHECK(only_run(server).artifacts.count("report.html") == 1);
}

TEST_CASE("a run that fails is logged as failed, with the error") {
  const FakeTrackingServer server;
  const std::string file = write_run_file();
  CHECK(run_host({"--config", file, "--set", "optimizer.lr=1e30"}, environment(server.uri())).exit_code != 0);
  CHECK(only_run(server).statuses == std::vector<std::string>{"FAILED"});
  CHECK(only_run(server).tags.count("tenon.error") == 1);
}

TEST_CASE("a run that a signal stops is logged as killed, and as finished after it resumed") {
  const FakeTrackingServer server;
  const std::string file =
      write_run_file("", "[[callback]]\nuse = \"faulty\"\nparams = { how = \"terminate\", where = \"step\" }\n");
  const std::string plugins = TENON_BINARY_DIR "/tests/fixtures/plugins/faulty";
  CHECK(run_host({"--config", file, "--plugin-dir", plugins}, environment(server.uri())).exit_code == 128 + 15);
  CHECK(only_run(server).statuses == std::vector<std::string>{"KILLED"});
  const Outcome outcome =
      run_host({"--config", file, "--plugin-dir", plugins, "--resume", "auto"}, environment(server.uri()));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.errors);
  CHECK(only_run(server).statuses == std::vector<std::string>{"KILLED", "RUNNING", "FINISHED"});
  CHECK(has_history(without_times(read_logged_values(only_run(server))), without_times(read_history_values())));
}

TEST_CASE("a filtered callback logs the values of the events that it receives") {
  const FakeTrackingServer server;
  const std::string file = write_run_file("every = \"5 steps\"");
  REQUIRE(run_host({"--config", file}, environment(server.uri())).exit_code == 0);
  std::set<int64_t> steps;
  for (const auto& [key, step, time, value] : only_run(server).metrics) steps.insert(step);
  CHECK(steps == std::set<int64_t>{5, 10});
}

TEST_CASE("several ranks log one run") {
  const FakeTrackingServer server;
  const std::string file = write_run_file();
  const Outcome outcome = run_host({"--config", file, "--set", "distributed.processes=2"}, environment(server.uri()));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.errors);
  CHECK(has_history(only_run(server)));
}

TEST_CASE("a dry run logs nothing, and a run without the address of a server is refused before the first step") {
  const FakeTrackingServer server;
  const std::string file = write_run_file();
  CHECK(run_host({"--config", file, "--dry-run"}, environment(server.uri())).exit_code == 0);
  CHECK(server.requests.empty());
  const Outcome outcome = run_host({"--config", file}, "env -u MLFLOW_TRACKING_URI");
  CHECK(outcome.exit_code == 3);
  CHECK(has(outcome.errors, "no tracking server is set; expected its address in the environment variable"));
  const Outcome secret = run_host({"--config", file}, environment("http://me:secret@127.0.0.1"));
  CHECK(secret.exit_code == 3);
  CHECK(has(secret.errors, "contains a user or a password"));
  CHECK_FALSE(has(secret.errors, "secret@"));
}

TEST_CASE("host sync refuses what is not a run, and reports callbacks without work") {
  CHECK(run_host({"sync"}).exit_code == 2);
  const Outcome absent = run_host({"sync", "nowhere"});
  CHECK(absent.exit_code == 5);
  CHECK(has(absent.errors, "nowhere: does not exist; expected the folder of a run"));
  const std::string file = write_run_file();
  const FakeTrackingServer server;
  REQUIRE(run_host({"--config", file, "--set", "callback=[]"}, environment(server.uri())).exit_code == 0);
  const Outcome outcome = run_host({"sync", run_folder().string()});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == run_folder().string() + ": none of its callbacks leaves work for later\n");
}
