// Runs that resume with more epochs or patience, and runs without a best checkpoint.
#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;

using tenon::contains;
using tenon::test_folder;
using namespace tenon::end_to_end;

namespace {

// 12 steps in an epoch.
constexpr const char* kDigits = R"([run]
deterministic = true

[model]
use = "mlp"

[data]
batch_size = 128

[data.train]
use = "digits"

[data.validation]
use = "digits"
params = { split = "test" }

[[loss]]
use = "cross_entropy"

[train]
epochs = 8

[optimizer]
use = "sgd"
lr = 0.1
)";

// After 3 validations without an improvement of 10.
constexpr const char* kStopping = R"(
[[callback]]
use = "early_stopping"
params = { patience = 3, min_delta = 10.0 }
)";

std::vector<std::string> of_run(const std::string& text, const std::vector<std::string>& more = {}) {
  const fs::path file = write_file(test_folder() / "digits.toml", text);
  return joined({"--config", file.string(), "--set", "run.output_dir=\"" + (test_folder() / "runs").string() + "\""},
                more);
}

Outcome run(const std::string& text, const std::vector<std::string>& more = {}) {
  return require_success(run_host(of_run(text, more)));
}

size_t count_runs() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& folder : fs::directory_iterator(test_folder() / "runs/digits")) ++count;
  return count;
}

}  // namespace

TEST_CASE("after a run that stopped early, auto starts a new run, and latest continues with more patience or epochs") {
  make_empty_folder("runs");
  const std::string text = std::string(kDigits) + kStopping;
  CHECK(contains(run(text).output, "for 3 validations)"));
  // The first validation is the best, so the run has four epochs.
  const Outcome again = run(text, {"--resume", "latest"});
  CHECK(contains(again.output, "has ended after step 48: early_stopping: validation/loss has not improved"));
  CHECK(contains(again.output, "raise the patience of the callback, or train.epochs"));
  const Outcome longer = run(text, {"--resume", "latest", "--set", "train.epochs=9"});
  CHECK(contains(longer.output, "stopped after 60 steps"));
  CHECK(contains(longer.output, "for 4 validations)"));
  const Outcome patient =
      run(text, {"--resume", "latest", "--set", "train.epochs=9", "--set", "callback.0.params.patience=6"});
  CHECK(contains(patient.errors, "callback[0].params.patience: 3, now 6"));
  CHECK(contains(patient.output, "stopped after 84 steps"));
  CHECK(count_runs() == 1);
  CHECK(contains(run(text, {"--resume", "auto"}).output, "stopped after 48 steps"));
  CHECK(count_runs() == 2);
  check_errors(run_host(of_run(text, {"--resume", "latest", "--set", "callback.0.params.mode=max"})), 5,
               {"was written with another run file", "callback[0].params.mode"});
}

TEST_CASE("a run that a limit of time ended continues with auto, and a run with fewer epochs or patience has ended") {
  make_empty_folder("runs");
  const std::string text =
      std::string(kDigits) + "\n[[callback]]\nuse = \"time_limit\"\nparams = { budget = \"1 hour\" }\n";
  run(text, {"--set", "train.steps=30"});
  // As if the budget had ended after the checkpoint of step 30.
  const fs::path record = find_run_folder(test_folder() / "runs", "digits") / "run.json";
  std::string json = read_file(record);
  const auto replace = [&](const std::string& before, const std::string& after) {
    const size_t at = json.find(before);
    REQUIRE(at != json.npos);
    json.replace(at, before.size(), after);
  };
  replace("\"status\": \"finished\"", "\"status\": \"stopped\"");
  replace("\"complete\": true", "\"complete\": false");
  write_file(record, json);
  const Outcome resumed = run(text, {"--resume", "auto", "--set", "train.steps=40"});
  CHECK(contains(resumed.output, "step-00000030"));
  CHECK(contains(resumed.output, "finished after 40 steps"));
  CHECK(count_runs() == 1);
  const std::string stopping = std::string(kDigits) + kStopping;
  make_empty_folder("runs");
  run(stopping);
  const Outcome shorter =
      run(stopping, {"--resume", "latest", "--set", "train.epochs=6", "--set", "callback.0.params.patience=1"});
  CHECK(contains(shorter.output, "has ended after step 48"));
}

TEST_CASE("another number of threads is reported, and not the number of the run itself") {
  make_empty_folder("runs");
  const std::vector<std::string> one{"--set", "run.threads=1", "--set", "train.epochs=2"};
  run(kDigits, one);
  const auto resume = [](const std::string& threads, const std::string& epochs) {
    return run(kDigits, {"--resume", "latest", "--set", "run.threads=" + threads, "--set", "train.epochs=" + epochs})
        .errors;
  };
  CHECK_FALSE(contains(resume("1", "3"), "the run had 1 thread of"));
  CHECK(contains(resume("2", "4"), "the run had 1 thread of"));
}

TEST_CASE("more epochs report the learning rate before and after, and warn if it rises") {
  const auto continued = [](const std::string& schedule, const std::vector<std::string>& more) {
    make_empty_folder("runs");
    const std::vector<std::string> settings{"--set", "validation.every=never", "--set", "schedule=" + schedule};
    run(kDigits, joined({"--set", "train.epochs=2"}, settings));
    return run(kDigits, joined(joined({"--resume", "latest"}, settings), more)).errors;
  };
  const std::vector<std::string> longer{"--set", "train.epochs=4"};
  const std::string cosine = continued("{use=\"cosine\"}", longer);
  // lr * (1 + cos(pi * step / steps)) / 2, for the step 23 of 24 and the step 24 of 48.
  CHECK(contains(cosine, "the learning rate was 0.0004278 in step 24 and is 0.05 in step 25"));
  CHECK(contains(cosine, "set schedule.length to the steps that the run had after its warm-up (\"24 steps\" without"));
  CHECK_FALSE(contains(continued("{use=\"cosine\",length=\"24 steps\"}", longer), "the learning rate was"));
  CHECK(contains(continued("{use=\"one_cycle\"}", longer), "a cycle spans the whole run"));
  CHECK(contains(continued("{use=\"warmup_stable_decay\"}", longer), "resume from a checkpoint before the decay"));
  CHECK_FALSE(contains(continued("{use=\"constant\"}", longer), "the learning rate was"));
  CHECK(contains(continued("{use=\"constant\"}", joined(longer, {"--set", "optimizer.lr=0.2"})),
                 "the learning rate was 0.1 in step 24 and is 0.2 in step 25"));
  CHECK_FALSE(contains(continued("{use=\"constant\"}", joined(longer, {"--set", "optimizer.lr=0.05"})),
                       "warning: --set schedule: the learning rate was"));
}

TEST_CASE("without a number of the monitored metric, the last weights are used and tested") {
  make_empty_folder("runs");
  write_file(test_folder() / "train.csv", "a,y\n1,0\n2,1\n3,0\n4,1\n");
  write_file(test_folder() / "validation.csv", "a,y\n1,1\n2,1\n");  // the AUC of one class is undefined
  const std::string text = R"([model]
use = "mlp"
params = { classes = 1 }
inputs = { image = "data.features" }
[data]
batch_size = 4
[data.train]
use = "table"
params = { path = "train.csv", target = "y", task = "regression" }
[data.validation]
like = "train"
params = { path = "validation.csv", statistics_from = "train.csv" }
[data.test]
like = "validation"
[[loss]]
use = "bce_with_logits"
inputs = { target = "data.target" }
[[metric]]
use = "binary_roc_auc"
inputs = { target = "data.target" }
[train]
epochs = 2
[optimizer]
use = "sgd"
lr = 0.1
[checkpoint]
monitor = "validation/binary_roc_auc"
load_best_at_end = true
)";
  const Outcome outcome = run(text);
  CHECK(contains(outcome.errors,
                 "checkpoint.load_best_at_end: validation/binary_roc_auc was not a number in any validation"));
  CHECK(contains(outcome.output, "test with the last weights, of step 2"));
  for (const auto& arguments :
       {joined(joined({"evaluate"}, of_run(text)), {"--checkpoint", "best"}), of_run(text, {"--resume", "best"})})
    check_errors(run_host(arguments), 5,
                 {"has a best checkpoint, because validation/binary_roc_auc was not a number in any validation of"});
}
