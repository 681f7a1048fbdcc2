// Tests that later commands read their data as the training data of the weights: with their vocabulary.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/support/diagnostics/error.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRun = R"([run]
threads = 1
[model]
use = "gpt"
params = { context = 16, layers = 1, heads = 2, width = 16 }
[data]
batch_size = 16
[data.train]
use = "text_windows"
params = { path = "train.txt", context = 16, tokens = "characters" }
[data.validation]
like = "train"
params = { path = "validation.txt" }
[[loss]]
use = "sequence_cross_entropy"
[train]
epochs = 8
[optimizer]
use = "adamw"
lr = 1e-2
[checkpoint]
keep = 9
)";

std::string repeat(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

const std::string kTrain = repeat("the quick brown fox jumps over a lazy dog\n", 40);
const std::string kValidation = repeat("over a lazy dog\n", 20);

// A run, after which the training text was replaced by one with other characters.
struct TrainedRun {
  TrainedRun() : folder(make_empty_folder("fitted")) {
    write_file(folder / "train.txt", kTrain);
    write_file(folder / "validation.txt", kValidation);
    config = write_file(folder / "chars.toml", kRun).string();
    const Outcome outcome = run_host({"--config", config, "--set", "run.output_dir=\"" + output().string() + '"'});
    CAPTURE(outcome.errors);
    REQUIRE(outcome.exit_code == 0);
    run = find_run_folder(output(), "chars");
    loss = read_last_metric(run, "validation/loss");
    write_file(folder / "train.txt", kValidation);
  }

  fs::path output() const { return folder / "runs"; }

  Outcome command(const std::vector<std::string>& arguments, const fs::path& weights) const {
    return run_host(joined(arguments, {"--config", config, "--checkpoint", weights.string()}));
  }

  double evaluate(const fs::path& weights) const {
    const Outcome outcome = require_success(command({"evaluate", "--json"}, weights));
    CHECK_FALSE(contains(outcome.errors, "warning"));
    return nlohmann::json::parse(outcome.output)["sets"][0]["metrics"]["validation/loss"].get<double>();
  }

  fs::path folder, run;
  std::string config;
  double loss = 0;
};

const TrainedRun& trained() {
  static const TrainedRun run;
  return run;
}

}  // namespace

TEST_CASE("validation text in another file has the characters of the training text") {
  CHECK(trained().loss < 1.5);  // above 4 with the numbers of other characters
  const auto fitted = tenon::artifacts::read_fitted_data(trained().run / "checkpoints/latest/model.safetensors");
  CHECK(fitted == tenon::artifacts::FittedData{{"text_windows", "characters\n\n abcdefghijklmnopqrstuvwxyz"}});
}

TEST_CASE("evaluation and generation have the vocabulary of the weights, also of exported ones") {
  const fs::path exported = trained().folder / "exported.safetensors";
  require_success(trained().command({"export", "--output", exported.string()}, trained().run));
  for (const fs::path& weights : {trained().run, exported}) {
    CHECK(trained().evaluate(weights) == doctest::Approx(trained().loss).epsilon(1e-6));
    const Outcome generated =
        require_success(trained().command({"generate", "--prompt", "quick", "--max-new-tokens", "4"}, weights));
    CHECK(contains(generated.output, "quick"));
  }
}

TEST_CASE("weights without the vocabulary are reported") {
  const fs::path file = trained().folder / "without.safetensors";
  const tenon::artifacts::SafetensorsFile named(trained().run / "checkpoints/latest/model.safetensors");
  tenon::artifacts::write_safetensors(file, named.tensors(), {{"format", "pt"}},
                                      tenon::support::ErrorKind::configuration);
  const Outcome outcome = trained().command({"evaluate"}, file);
  CAPTURE(outcome.errors);
  CHECK(contains(outcome.errors, "warning: " + file.string() +
                                     ": does not have the vocabulary, columns or statistics of the text_windows data"));
}

TEST_CASE("a run that starts from weights with another vocabulary is warned") {
  const Outcome outcome =
      run_host({"--config", trained().config, "--check", "--set",
                "model.weights=\"" + (trained().run / "checkpoints/latest/model.safetensors").string() + '"', "--set",
                "model.weights_match=\"partial\""});
  CAPTURE(outcome.errors);
  CHECK(contains(outcome.errors,
                 "was trained with another vocabulary, or other columns or statistics, of the text_windows "
                 "data"));
}

TEST_CASE("packed and shown data have the vocabulary of the training data") {
  write_file(trained().folder / "again.txt", kTrain);
  const std::vector<std::string> train{"--config", trained().config, "--set",
                                       "data.train.params.path=\"" + (trained().folder / "again.txt").string() + '"'};
  const auto read = [&](const std::vector<std::string>& arguments) { return run_host(joined(arguments, train)); };
  const fs::path folder = make_empty_folder("packed") / "shards";
  CHECK(read({"pack", "--data", "validation", "--output", folder.string()}).exit_code == 0);
  // "ov" is 16, 23 among the 28 characters of the training text.
  const std::string tokens("\x10\0\0\0\0\0\0\0\x17\0\0\0\0\0\0\0", 16);
  std::string shards;
  for (const auto& shard : fs::directory_iterator(folder)) shards += read_file(shard.path());
  CHECK(contains(shards, tokens));
  write_file(trained().folder / "unknown.txt", kValidation + "!");
  const Outcome outcome = read({"data", "--data", "validation", "--seconds", "0", "--set",
                                "data.validation.params.path=\"" + (trained().folder / "unknown.txt").string() + '"'});
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 4);
  CHECK(contains(outcome.errors, "the character \"!\" is not one of the 28 characters of the training text"));
}
