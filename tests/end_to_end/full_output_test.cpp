// Starts every command with a standard output that cannot be written.
#include <doctest/doctest.h>

#include <map>

#include "host/command_line/registry.h"
#include "tests/end_to_end/hosted_run.h"

using namespace tenon;
using end_to_end::Outcome;
using end_to_end::run_host;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

constexpr const char* kConfig = TENON_SOURCE_DIR "/configs/digits_mlp.toml";
const Words kShort = {"--set", "train={steps=2}"};

// Bytes of this file itself.
constexpr const char* kTextRun = R"([model]
use = "gpt"
params = { context = 8, layers = 1, heads = 1, width = 8 }
[data]
batch_size = 4
[data.train]
use = "text_windows"
params = { path = "text.toml", context = 8 }
[[loss]]
use = "sequence_cross_entropy"
[train]
steps = 2
[optimizer]
use = "sgd"
lr = 0.1
)";

struct Case {
  Words arguments;              // after the name of the command
  bool prints_nothing = false;  // the command writes a file alone
};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// By the name of the command.
std::map<std::string, Case> make_cases() {
  const fs::path folder = end_to_end::make_empty_folder("full_output");
  const fs::path plugin = folder / "mlp.so";
  fs::copy_file(TENON_BINARY_DIR "/plugins/mlp.so", plugin);
  const Words config = {"--config", kConfig};
  REQUIRE(
      run_host(config + kShort + Words{"--set", "run.output_dir=\"" + (folder / "runs").string() + "\""}).exit_code ==
      0);
  const std::string run = end_to_end::find_run_folder(folder / "runs", "digits_mlp");
  const std::string checkpoint = run + "/checkpoints/latest";
  const Words weights = config + Words{"--checkpoint", checkpoint};
  const Words text = {"--config", end_to_end::write_file(folder / "text.toml", kTextRun), "--set",
                      "run.output_dir=\"" + (folder / "runs").string() + "\""};
  REQUIRE(run_host(text).exit_code == 0);
  for (const std::string name : {"cat", "dog"})
    for (int i = 0; i < 40; ++i)
      end_to_end::write_file(folder / "photos" / name / (std::to_string(i) + ".pgm"), "P5 2 2 255\n0123");
  return {
      {"", {config + Words{"--check"}}},  // a run continues without its terminal output: standard_streams_test.cpp
      {"init images", {{folder / "photos", "--output", folder / "photos.toml"}}},
      {"data", {config}},
      {"overfit", {config + Words{"--steps", "2"}}},
      {"lr-find", {config + Words{"--steps", "10"}}},
      {"profile", {config + Words{"--repeats", "1"}}},
      {"batch-size", {config + Words{"--repeats", "1", "--memory", "0.01"}}},
      {"pack", {config + Words{"--data", "train", "--output", folder / "packed"}}},
      {"evaluate", {weights}},
      {"predict", {weights + Words{"--data", "validation", "--output", folder / "predictions.csv"}}},
      {"generate", {text + Words{"--prompt", "to"}}},
      {"export", {weights + Words{"--output", folder / "exported.safetensors"}}},
      {"checkpoint show", {{checkpoint}}},
      {"checkpoint verify", {{checkpoint}}},
      {"checkpoint diff", {{checkpoint, checkpoint}}},
      {"runs", {{folder / "runs"}}},
      {"prune", {{folder / "runs", "--keep-runs", "1"}}},
      {"report", {{run}}},
      {"compare", {Words{kConfig, "--output", folder / "compared"} + kShort}},
      {"verify-resume", {config + kShort}},
      {"new plugin", {{"made", "--output", folder / "made"}}},
      {"plugins", {}},
      {"describe", {{"mlp"}}},
      {"validate", {{plugin}}},
      {"note", {{plugin}, true}},
      {"schema", {}},
      {"completion", {{"bash"}}},
      {"manual", {}},
  };
}

Words words_of(const std::string& name, const Case& one) {
  Words words;
  const size_t space = name.find(' ');
  if (!name.empty()) words.push_back(name.substr(0, space));
  if (space != name.npos) words.push_back(name.substr(space + 1));
  return words + one.arguments;
}

}  // namespace

TEST_CASE("every command fails with exit code 11 if its output cannot be written") {
  const std::map<std::string, Case> cases = make_cases();
  for (const host::Command* command : host::commands()) {
    const std::string name = command->name;
    CAPTURE(name);
    const auto found = cases.find(name);
    REQUIRE_MESSAGE(found != cases.end(), "add the command to make_cases()");
    const Words words = words_of(name, found->second);
    if (found->second.prints_nothing) {
      const Outcome outcome = end_to_end::require_success(run_host(words));
      CHECK(outcome.output == "");
      continue;
    }
    const Outcome outcome = run_host(words, "sh -c 'exec \"$0\" \"$@\" >/dev/full'");
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 11);
    CHECK(outcome.errors.starts_with("error: "));
  }
}
