// Tests runs with checkpoint.exclude_frozen_parameters: what resumes from such checkpoints, and which commands read
// them.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
using tenon::artifacts::SafetensorsFile;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRunFile = R"([run]
deterministic = true
threads = 1
[model]
use = "mlp"
params = { hidden = [32] }
[data]
batch_size = 24
workers = 0
[data.train]
use = "digits"
subset = "20%"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
epochs = 2
[checkpoint]
exclude_frozen_parameters = true
[optimizer]
use = "adamw"
lr = 0.01
[[optimizer.group]]
match = ["layers.0.*"]
frozen = true
)";

using Arguments = std::vector<std::string>;

// The arguments of a command for the run file.
Arguments with(const std::string& run, const Arguments& more, const std::string& command = "") {
  const fs::path file = write_file(tenon::test_folder() / "frozen.toml", kRunFile);
  const Arguments arguments = joined({"--config", file.string(), "--set", "run.name=\"" + run + "\"", "--set",
                                      "run.output_dir=\"" + (tenon::test_folder() / "runs").string() + "\""},
                                     more);
  return command.empty() ? arguments : joined({command}, arguments);
}

Outcome succeed(const Arguments& arguments) { return require_success(run_host(arguments)); }

// Runs the host, which must end with exit code 5 and this text.
void check_refused(const Arguments& arguments, const std::string& text) {
  check_errors(run_host(arguments), 5, {text});
}

fs::path folder_of(const std::string& run) { return find_run_folder(tenon::test_folder() / "runs", run); }
fs::path latest_of(const std::string& run) { return fs::canonical(folder_of(run) / "checkpoints/latest"); }
std::string weights_of(const std::string& run) { return read_file(latest_of(run) / "model.safetensors"); }

std::vector<std::string> names_in(const fs::path& path) {
  const SafetensorsFile file(path);
  std::vector<std::string> names;
  for (const auto& tensor : file.tensors()) names.push_back(tensor.name);
  return names;
}

std::vector<std::string> excluded_from(const std::string& run) {
  std::vector<std::string> names;
  for (const auto& tensor : tenon::artifacts::read_manifest(latest_of(run)).excluded) names.push_back(tensor.name);
  return names;
}

double evaluate_loss(const std::string& run, const Arguments& more = {}) {
  const auto json = nlohmann::json::parse(succeed(with(run, joined(more, {"--json"}), "evaluate")).output);
  return json.at("sets").at(0).at("metrics").at("validation/loss").get<double>();
}

const Arguments kAll{"layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"};
const Arguments kFrozen{"layers.0.weight", "layers.0.bias"}, kTrained{"layers.1.weight", "layers.1.bias"};

Arguments set(const std::string& setting) { return {"--set", setting}; }

}  // namespace

TEST_CASE("frozen random weights are left out, and the seed makes them again for every command") {
  succeed(with("random", {}));
  CHECK(names_in(latest_of("random") / "model.safetensors") == kTrained);
  CHECK(excluded_from("random") == kFrozen);
  CHECK(evaluate_loss("random") == read_last_metric(folder_of("random"), "validation/loss"));

  succeed(with("complete", set("checkpoint.exclude_frozen_parameters=false")));
  CHECK(names_in(latest_of("complete") / "model.safetensors") == kAll);
  CHECK(fs::file_size(latest_of("random") / "model.safetensors") <
        fs::file_size(latest_of("complete") / "model.safetensors") / 2);
  CHECK(read_history_without_times(folder_of("random")) == read_history_without_times(folder_of("complete")));
  // The digests stand for the values.
  const std::string same = succeed({"checkpoint", "diff", latest_of("random"), latest_of("complete")}).output;
  CHECK(contains(same, "model.safetensors: 4 tensors are equal, 0 differ"));

  const fs::path exported = tenon::test_folder() / "exported.safetensors";
  succeed(with("random", {"--output", exported.string()}, "export"));
  succeed({"checkpoint", "diff", latest_of("complete"), exported});

  const std::string shown = succeed({"checkpoint", "show", latest_of("random")}).output;
  CHECK(contains(shown, "not in the checkpoint: 2 frozen parameters, 8.1 KiB, which have their initial values"));
  CHECK(succeed({"checkpoint", "verify", latest_of("random")}).output.find("intact") != std::string::npos);
}

TEST_CASE("frozen parameters of other values differ") {
  succeed(with("one", set("train.steps=1")));
  succeed(with("two", {"--set", "train.steps=1", "--set", "run.seed=1"}));
  const Outcome outcome = run_host({"checkpoint", "diff", latest_of("one"), latest_of("two")});
  CHECK(outcome.exit_code == 9);
  CHECK(contains(outcome.output, "layers.0.bias    float32 [32], a frozen parameter of other values"));
}

TEST_CASE("another seed is refused by name, and the run folder is not changed") {
  succeed(with("seeded", {}));
  const std::string text =
      "manifest.json: the checkpoint leaves out the frozen parameter layers.0.weight, and the initial one, from "
      "run.seed (model.weights is not set), has the XXH128 ";
  check_refused(with("seeded", set("run.seed=5"), "evaluate"), text);
  const std::string plan = read_file(folder_of("seeded") / "plan.toml");
  const std::string history = read_file(folder_of("seeded") / "history.jsonl");
  check_refused(with("seeded", {"--set", "run.seed=5", "--set", "train.epochs=3", "--resume", "latest"}), text);
  CHECK(read_file(folder_of("seeded") / "plan.toml") == plan);
  CHECK(read_file(folder_of("seeded") / "history.jsonl") == history);
}

TEST_CASE("frozen weights come from model.weights, which must not change") {
  succeed(with("base", {"--set", "optimizer.group=[]", "--set", "train.steps=2"}));
  CHECK(names_in(latest_of("base") / "model.safetensors") == kAll);
  const fs::path base = tenon::test_folder() / "base.safetensors";
  fs::copy_file(latest_of("base") / "model.safetensors", base);
  const Arguments weights = set("model.weights=\"" + base.string() + "\"");
  const auto with_weights = [&](const std::string& run, const Arguments& more, const std::string& command = "") {
    return with(run, joined(more, weights), command);
  };
  succeed(with_weights("tuned", set("train.epochs=3")));
  CHECK(excluded_from("tuned") == kFrozen);
  succeed(with_weights("continued", set("train.epochs=2")));
  succeed(with_weights("continued", {"--set", "train.epochs=3", "--resume", "latest"}));
  CHECK(weights_of("continued") == weights_of("tuned"));
  CHECK(evaluate_loss("tuned", weights) == read_last_metric(folder_of("tuned"), "validation/loss"));

  // The run file must name them for every command.
  check_refused(with("tuned", {}, "evaluate"), "layers.0.weight, and the initial one, from run.seed");
  fs::remove(base);
  succeed(with("other", {"--set", "optimizer.group=[]", "--set", "train.steps=3"}));
  fs::copy_file(latest_of("other") / "model.safetensors", base);
  const std::string text = "the initial one, from model.weights (" + base.string() + "), has the XXH128 ";
  check_refused(with_weights("tuned", {"--set", "train.epochs=4", "--resume", "latest"}), text);
  check_refused(with_weights("tuned", {}, "evaluate"), text);
}

TEST_CASE("a run may start from a checkpoint without frozen parameters if its model has them") {
  succeed(with("first", {}));
  const fs::path file = latest_of("first") / "model.safetensors";
  const Arguments weights = set("model.weights=\"" + file.string() + "\"");
  succeed(with("second", {"--set", weights[1], "--set", "validation.at_start=true", "--set", "train.steps=1"}));
  CHECK(read_file(folder_of("second") / "history.jsonl")
            .find("\"validation/loss\": " +
                  nlohmann::json(read_last_metric(folder_of("first"), "validation/loss")).dump()) != std::string::npos);
  check_refused(with("third", {"--set", weights[1], "--set", "run.seed=2"}),
                "the frozen parameter layers.0.weight, and the initial one, from run.seed");
}

TEST_CASE("the option may change when a run resumes") {
  succeed(with("whole", set("train.epochs=4")));
  succeed(with("changed", {}));
  succeed(with("changed", {"--set", "train.epochs=3", "--set", "checkpoint.exclude_frozen_parameters=false", "--resume",
                           "latest"}));
  CHECK(names_in(latest_of("changed") / "model.safetensors") == kAll);
  succeed(with("changed", {"--set", "train.epochs=4", "--resume", "latest"}));
  CHECK(excluded_from("changed") == kFrozen);
  CHECK(weights_of("changed") == weights_of("whole"));
}

TEST_CASE("parameters that are frozen for some epochs stay in the checkpoint, and a warning says so") {
  const Outcome outcome = succeed(with("thawed", set("optimizer.group=[{match=[\"layers.0.*\"],frozen_epochs=1}]")));
  CHECK(
      contains(outcome.errors, "checkpoint.exclude_frozen_parameters is true, but the model has no frozen parameters"));
  CHECK(names_in(latest_of("thawed") / "model.safetensors") == kAll);
}

TEST_CASE("a run with averaged weights and the best weights at its end resumes bit for bit in two processes") {
  make_empty_folder("temporary");
  const Outcome outcome = require_success(
      run_host(with("verified",
                    {"--processes", "2", "--steps", "12", "--set", "train.average={use=\"ema\",decay=0.9}", "--set",
                     "checkpoint.load_best_at_end=true"},
                    "verify-resume"),
               "env TMPDIR=" + (tenon::test_folder() / "temporary").string() + " "));
  CHECK(contains(outcome.output, "IDENTICAL: bit for bit the same with and without 2 kills: 4 tensors of the model"));
}
