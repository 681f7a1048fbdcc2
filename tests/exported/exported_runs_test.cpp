// Runs of the host that train an exported model.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

// A run file for the digits with an exported convolutional network that has batch norm: `cnn` has dropout, too, and
// `residual` has repeated blocks.
fs::path write_run_file(const fs::path& folder, const std::string& train, const std::string& model = "cnn") {
  const std::string archive = TENON_SOURCE_DIR "/tests/parity/reference/exported/" + model + ".pt2";
  return write_file(folder / "exported.toml", "[model]\nuse = \"exported\"\nparams = { path = \"" + archive +
                                                  "\", outputs = [\"logits\"] }\n" + R"(
[data]
batch_size = 16
workers = 0
[data.train]
use = "digits"
params = { split = "train" }
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[optimizer]
use = "adamw"
lr = 1e-2
[run]
threads = 1
[train]
)" + train);
}

fs::path train(const std::string& folder_name, const std::string& train) {
  const fs::path folder = make_empty_folder(folder_name);
  require_success(run_host({"--config", write_run_file(folder, train).string(), "--set",
                            "run.output_dir=\"" + (folder / "runs").string() + "\""}));
  return find_run_folder(folder / "runs", "exported");
}

}  // namespace

TEST_CASE("an exported model learns the digits in float32 and in bf16") {
  CHECK(read_last_metric(train("float32", "epochs = 3\n"), "validation/accuracy") > 0.75);
  CHECK(read_last_metric(train("bf16", "epochs = 3\nprecision = \"bf16\"\n"), "validation/accuracy") > 0.75);
}

namespace {

// Kills and resumes a run of two processes. `text`: what the output must contain.
void check_resume(const fs::path& run_file, const std::string& text) {
  const Outcome outcome = require_success(
      run_host({"verify-resume", "--config", run_file.string(), "--processes", "2", "--steps", "12", "--kills", "1"},
               "env TMPDIR=" + make_empty_folder("temporary").string() + " "));
  CHECK(tenon::contains(outcome.output, text));
}

const std::string kIdentical = "IDENTICAL: bit for bit the same with and without 1 kill";

}  // namespace

TEST_CASE("a run with an exported model resumes bit for bit, in two processes with accumulation") {
  check_resume(write_run_file(make_empty_folder("resumed"), "steps = 1000\naccumulate = 2\n"), kIdentical);
}

TEST_CASE("it also does in bf16 with activation checkpointing") {
  const std::string train = "steps = 1000\naccumulate = 2\nprecision = \"bf16\"\nactivation_checkpointing = true\n";
  check_resume(write_run_file(make_empty_folder("resumed"), train, "residual"), kIdentical);
}

TEST_CASE("trained weights are exported into a copy of the archive, which another run starts from") {
  const fs::path run = train("exported_again", "epochs = 2\n");
  const fs::path folder = run.parent_path().parent_path().parent_path();
  const fs::path copy = folder / "trained.pt2";
  const std::vector<std::string> settings{"--config", (folder / "exported.toml").string(), "--set",
                                          "run.output_dir=\"" + (folder / "runs").string() + "\""};
  require_success(run_host(joined({"export", "--output", copy.string()}, settings)));
  require_success(
      run_host(joined(settings, {"--set", "run.name=second", "--set", "model.params.path=\"" + copy.string() + "\"",
                                 "--set", "validation.at_start=true", "--set", "train.steps=1"})));
  // The first validation is before the first step.
  for (const std::string& line :
       parts_of(read_file(find_run_folder(folder / "runs", "second") / "history.jsonl"), '\n')) {
    const auto metrics = nlohmann::json::parse(line);
    if (metrics.at("event") != "validation") continue;
    CHECK(metrics.at("step") == 0);
    CHECK(metrics.at("validation/loss") == read_last_metric(run, "validation/loss"));
    return;
  }
  FAIL("no validation");
}

namespace {

// A run file for GPT-2 with LoRA adapters and a vocabulary of 11 tokens.
fs::path write_lora_run_file(const fs::path& folder) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "abcdefghijk"[i * i * i % 101 % 11];
  write_file(folder / "text.txt", text);
  const std::string archive = TENON_SOURCE_DIR "/tests/parity/reference/exported_architectures/gpt2_lora.pt2";
  const std::string data = "params = { path = \"text.txt\", tokens = \"characters\", context = 5 }\n";
  return write_file(folder / "lora.toml", "[run]\nthreads = 1\ndeterministic = true\n[model]\nuse = \"exported\"\n" +
                                              ("params = { path = \"" + archive) + "\", outputs = [\"logits\"] }\n" +
                                              "inputs = { input_ids = \"data.tokens\" }\n[data]\nbatch_size = 8\n" +
                                              "workers = 0\n[data.train]\nuse = \"text_windows\"\n" + data +
                                              "[data.validation]\nuse = \"text_windows\"\n" + data + R"(
[[loss]]
use = "sequence_cross_entropy"
[[metric]]
use = "perplexity"
[train]
epochs = 2
[checkpoint]
exclude_frozen_parameters = true
[optimizer]
use = "adamw"
lr = 1e-2
)");
}

}  // namespace

TEST_CASE("checkpoints of a model with LoRA adapters have only these, and resume and evaluate bit for bit") {
  const fs::path folder = make_empty_folder("lora");
  const fs::path run_file = write_lora_run_file(folder);
  const auto run = [&](const std::vector<std::string>& arguments, const std::string& name) {
    return require_success(
               run_host(joined(arguments, {"--config", run_file.string(), "--set", "run.name=" + name, "--set",
                                           "run.output_dir=\"" + (folder / "runs").string() + "\""})))
        .output;
  };
  run({}, "adapters");
  run({"--set", "checkpoint.exclude_frozen_parameters=false"}, "complete");
  const fs::path adapters = find_run_folder(folder / "runs", "adapters") / "checkpoints/latest";
  const fs::path complete = find_run_folder(folder / "runs", "complete") / "checkpoints/latest";
  const tenon::artifacts::SafetensorsFile file(adapters / "model.safetensors");
  CHECK(file.tensors().size() == 4);
  for (const auto& tensor : file.tensors()) CHECK(tensor.name.find(".lora_") != std::string::npos);
  CHECK(fs::file_size(adapters / "model.safetensors") < fs::file_size(complete / "model.safetensors") / 4);
  CHECK(run_host({"checkpoint", "diff", adapters, complete}).exit_code == 0);

  const auto metrics = [&](const std::string& name) {
    return nlohmann::json::parse(run({"evaluate", "--json"}, name)).at("sets").at(0).at("metrics");
  };
  CHECK(metrics("adapters") == metrics("complete"));
  run({"export", "--output", (folder / "adapters.pt2").string()}, "adapters");
  run({"export", "--output", (folder / "complete.pt2").string()}, "complete");
  CHECK(read_file(folder / "adapters.pt2") == read_file(folder / "complete.pt2"));

  check_resume(run_file, "without 1 kill: 32 tensors of the model");
}

TEST_CASE("a file that is not an archive ends the run with the exit code of data errors") {
  const fs::path folder = make_empty_folder("wrong");
  const fs::path run_file = write_run_file(folder, "steps = 1\n");
  check_errors(run_host({"--config", run_file.string(), "--set", "model.params.path=\"" + run_file.string() + "\""}), 4,
               {"exported.toml: is not a .pt2 archive of torch.export"});
}
