#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "tests/end_to_end/hosted_run.h"

namespace digits_test {

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits.toml";

// Trains configs/<config>.toml and returns the run folder.
fs::path train(const std::string& folder_name, std::vector<std::string> more, const std::string& config = "digits") {
  const fs::path output = make_empty_folder(folder_name);
  std::vector<std::string> arguments{"--config", TENON_SOURCE_DIR "/configs/" + config + ".toml", "--set",
                                     "run.output_dir=\"" + output.string() + "\""};
  for (std::string& word : more) arguments.insert(arguments.end(), {"--set", std::move(word)});
  require_success(run_host(arguments));
  return find_run_folder(output, config);
}

}  // namespace

TEST_CASE("small_cnn recognises more than 97 % of the digits and writes a complete run folder") {
  const fs::path run = train("small_cnn", {});
  CHECK(read_last_metric(run, "validation/accuracy") > 0.97);

  for (const char* file :
       {"plan.toml", "run.json", "log.txt", "history.jsonl", "history.csv", "checkpoints/latest/model.safetensors"}) {
    CAPTURE(file);
    CHECK(fs::exists(run / file));
  }
  CHECK_NOTHROW(tenon::artifacts::verify_checkpoint(run / "checkpoints/latest"));

  const auto record = nlohmann::json::parse(read_file(run / "run.json"));
  CHECK(record["status"] == "finished");
  CHECK(record["exit_code"] == 0);
  // The plugins that the run uses, from all plugins in the folder.
  std::set<std::string> used;
  for (const auto& plugin : record["plugins"]) {
    used.insert(plugin["id"]);
    CHECK(plugin["sha256"].get<std::string>().size() == 64);
  }
  CHECK(used == std::set<std::string>{"accuracy", "cross_entropy", "digits", "small_cnn"});
}

TEST_CASE("mlp recognises more than 95 % of the digits") {
  const fs::path run = train("mlp", {}, "digits_mlp");
  CHECK(read_last_metric(run, "validation/accuracy") > 0.95);
}

TEST_CASE("two identical runs give the same bytes, except for times") {
  const fs::path first = train("first", {"train.epochs=2"});
  const fs::path second = train("second", {"train.epochs=2", "data.workers=0"});
  CHECK(read_file(first / "checkpoints/latest/model.safetensors") ==
        read_file(second / "checkpoints/latest/model.safetensors"));
  CHECK(read_history_without_times(first) == read_history_without_times(second));
}

TEST_CASE("plan.toml is a run file that repeats the run") {
  const fs::path first = train("original", {"train={steps=3}", "run.seed=5"});
  const fs::path output = make_empty_folder("again");
  require_success(
      run_host({"--config", (first / "plan.toml").string(), "--set", "run.output_dir=\"" + output.string() + "\""}));
  CHECK(read_file(first / "checkpoints/latest/model.safetensors") ==
        read_file(find_run_folder(output, "digits") / "checkpoints/latest/model.safetensors"));
}

TEST_CASE("a run can start from the weights of a checkpoint") {
  const fs::path first = train("start", {"train={steps=3}"});
  const std::string weights = "model.weights=\"" + (first / "checkpoints/latest/model.safetensors").string() + "\"";
  const fs::path next = train("next", {"train={steps=1}", "optimizer={use=\"sgd\",lr=1e-30}", weights,
                                       "model.use=\"small_cnn\"", "validation.at_start=true"});
  CHECK(read_last_metric(next, "validation/loss") > 0);
}

TEST_CASE("folders of runs with brackets in their names are written and resumed") {
  const fs::path run = train("r[1]", {"train={steps=3}"}, "digits_mlp");
  const std::string output = run.parent_path().parent_path().string();
  REQUIRE(output.ends_with("r[1]"));
  // Another folder that the name would match as a pattern.
  make_empty_folder("r1");
  int steps = 3;
  for (const std::string& resumed : {run.string(), std::string("latest")}) {
    steps += 2;
    const Outcome outcome = require_success(
        run_host({"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--resume", resumed, "--set",
                  "run.output_dir=\"" + output + "\"", "--set", "train={steps=" + std::to_string(steps) + "}"}));
    CHECK(outcome.output.find("resumed from ") != std::string::npos);
    CHECK(find_run_folder(output, "digits_mlp") == run);
  }
  CHECK(run_host({"evaluate", "--config", (run / "plan.toml").string(), "--checkpoint", run.string()}).exit_code == 0);
}

TEST_CASE("--check prints the complete plan and trains nothing") {
  const fs::path output = make_empty_folder("checked");
  const Outcome outcome = require_success(
      run_host({"--config", kDigits, "--check", "--set", "run.output_dir=\"" + output.string() + "\""}));
  CHECK(outcome.output.find("label_smoothing = 0.0") != std::string::npos);
  for (const char* const inputs :
       {"\ninputs = { image = \"data.image\" }\n\n[data]",
        "inputs = { logits = \"model.logits\", target = \"data.label\" }\nname = \"cross_entropy\"",
        "inputs = { logits = \"model.logits\", target = \"data.label\" }\nname = \"accuracy\""}) {
    CAPTURE(inputs);
    CHECK(outcome.output.find(inputs) != std::string::npos);
  }
  // The plan can be run again.
  const fs::path plan = write_file(output / "plan.toml", outcome.output);
  CHECK(run_host({"--config", plan.string(), "--check"}).output == outcome.output);
  fs::remove(plan);
  CHECK(fs::is_empty(output));
}

TEST_CASE("early stopping ends the run and reports the reason") {
  const fs::path output = make_empty_folder("early");
  const fs::path file = write_file(output / "early.toml",
                                   read_file(kDigits) +
                                       "\n[[callback]]\nuse = \"early_stopping\"\nparams = { monitor = "
                                       "\"validation/accuracy\", mode = \"max\", patience = 1, min_delta = 1.0 }\n");
  const Outcome outcome =
      require_success(run_host({"--config", file.string(), "--set", "run.output_dir=\"" + output.string() + "\""}));
  CHECK(outcome.output.find("stopped after 46 steps") != std::string::npos);
  CHECK(outcome.output.find("early_stopping: validation/accuracy has not improved") != std::string::npos);
  CHECK(nlohmann::json::parse(read_file(find_run_folder(output, "early") / "run.json"))["status"] == "stopped");
}

namespace {

// Checks that the command that continues the run is valid.
void check_continuation(const std::string& output) {
  CAPTURE(output);
  const std::string before = "Interrupted. Checkpoint saved; continue with:\n  host ";
  const size_t found = output.find(before);
  REQUIRE(found != std::string::npos);
  const size_t begin = found + before.size();
  std::istringstream line(output.substr(begin, output.find('\n', begin) - begin));
  require_success(run_host(joined({std::istream_iterator<std::string>(line), {}}, {"--check"})));
}

}  // namespace

TEST_CASE("a stop request ends the run with a checkpoint and the exit code of the signal") {
  struct Request {
    std::string signal;
    std::string processes;
    int exit_code;
  };
  for (const Request& request :
       {Request{"INT", "1", 130}, {"INT", "2", 130}, {"TERM", "1", 143}, {"TERM", "2", 143}, {"HUP", "1", 129}}) {
    CAPTURE(request.signal + ", processes " + request.processes);
    const fs::path output = make_empty_folder("interrupted");
    // A shell without a terminal starts a background process with SIGINT ignored, which the run respects.
    const Outcome outcome = run_host(
        {"--config", kDigits, "--processes", request.processes, "--set", "run.output_dir=\"" + output.string() + "\"",
         "--set", "train.epochs=100000"},
        "sh -c 'env --default-signal=INT,HUP \"$@\" & until ls interrupted/digits/*/history.jsonl; do sleep 0.1; done; "
        "kill -" +
            request.signal + " $!; wait $!' sh");
    CHECK(outcome.exit_code == request.exit_code);
    const fs::path run = find_run_folder(output, "digits");
    CHECK(nlohmann::json::parse(read_file(run / "run.json"))["status"] == "stopped");
    CHECK_NOTHROW(tenon::artifacts::verify_checkpoint(run / "checkpoints/latest"));
    check_continuation(outcome.output);
  }
}

// The terminal shows both streams. Plugins may log while they are destroyed, and the end of the process may take time.
TEST_CASE("the command that continues an interrupted run is printed last") {
  const fs::path output = make_empty_folder("interrupted_last");
  const Outcome outcome =
      run_host({"--config", kDigits, "--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/interrupting", "--set",
                "callback=[{use=\"interrupting\"}]", "--set", "run.output_dir=\"" + output.string() + "\""},
               "sh -c 'stdbuf -oL env --default-signal=INT \"$@\" 2>&1' sh");
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 130);
  CHECK(outcome.output.find("warning: interrupting: was destroyed") != std::string::npos);
  check_continuation(outcome.output);
  const size_t last = outcome.output.rfind("Interrupted. ");
  CHECK(std::count(outcome.output.begin() + static_cast<ptrdiff_t>(last), outcome.output.end(), '\n') == 2);
}

TEST_CASE("a run continues when the reader of its output ends") {
  const fs::path output = make_empty_folder("unread");
  require_success(run_host({"--config", kDigits, "--set", "run.output_dir=\"" + output.string() + "\"", "--set",
                            "train.epochs=2", "--set", "log.every=\"1 step\""},
                           "sh -c '\"$0\" \"$@\" | head -n 1; exit 0'"));
  // head(1) ended long before. run.json has the status after the run has written its last output.
  const fs::path run = find_run_folder(output, "digits");
  CHECK(nlohmann::json::parse(read_file(run / "run.json"))["status"] == "finished");
}

TEST_CASE("output that is not a terminal has plain lines") {
  const fs::path output = make_empty_folder("plain");
  const Outcome outcome = run_host({"--config", kDigits, "--set", "run.output_dir=\"" + output.string() + "\"", "--set",
                                    "train.epochs=1", "--set", "log.every=\"10 steps\""});
  CHECK(outcome.output.find('\r') == std::string::npos);
  CHECK(outcome.output.find('\033') == std::string::npos);
  CHECK(std::regex_search(
      outcome.output,
      std::regex("step 10/23  epoch 1/1  train/gradient_norm .*  train/learning_rate .*  train/loss .* samples/s")));
  CHECK(std::regex_search(outcome.output, std::regex("epoch 1/1  train/loss .*  validation/accuracy .*")));
  CHECK(outcome.output.find("parameters, ") != std::string::npos);
}

}  // namespace digits_test
