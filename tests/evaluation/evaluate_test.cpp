// Tests host evaluate and host predict: they reproduce the metrics of the run and write its outputs.
#include <doctest/doctest.h>

#include <tenon/abi.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "framework/support/text/format_values.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/evaluation/read_values.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace evaluate_test {

using namespace tenon::end_to_end;
using tenon::contains;
using tenon::artifacts::SafetensorsFile;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

// A linear model of the digits, trained for a few steps. It is trained once for all tests.
struct TrainedRun {
  TrainedRun() : output(make_empty_folder("evaluated")) {
    require_success(run_host(with({"--set", "train={steps=30}"})));
    folder = find_run_folder(output, "digits_mlp");
    checkpoint = fs::canonical(folder / "checkpoints/latest");
  }

  std::vector<std::string> with(const std::vector<std::string>& more) const {
    return joined(
        {"--config", kDigits, "--set", "run.output_dir=\"" + output.string() + "\"", "--set", "model.params.hidden=[]"},
        more);
  }
  std::vector<std::string> command(const std::string& name, const std::vector<std::string>& more) const {
    return joined({name}, with(more));
  }

  fs::path output;
  fs::path folder;
  fs::path checkpoint;
};

const TrainedRun& trained() {
  static const TrainedRun run;
  return run;
}

nlohmann::json evaluate(std::vector<std::string> more) {
  more.push_back("--json");
  return nlohmann::json::parse(require_success(run_host(trained().command("evaluate", more))).output);
}

void check_refused(const std::string& name, const std::vector<std::string>& more, int exit_code,
                   const std::string& message) {
  check_errors(run_host(trained().command(name, more)), exit_code, {message});
}

// Reads the lines of a CSV file, split at commas.
std::vector<std::vector<std::string>> read_csv(const fs::path& path) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : parts_of(read_file(path), '\n')) rows.push_back(parts_of(line, ','));
  return rows;
}

void predict(const fs::path& output, const std::vector<std::string>& more) {
  const Outcome outcome = require_success(
      run_host(trained().command("predict", joined(more, {"--data", "validation", "--output", output.string()}))));
  CHECK(contains(outcome.output, tenon::support::show_path(trained().checkpoint) + " (epoch 2, step 30)"));
  CHECK(contains(outcome.output, "validation: 359 samples in " + output.string()));
}

}  // namespace

TEST_CASE("host evaluate reproduces the metrics of the run's last validation bit for bit") {
  const auto all = evaluate({});
  CHECK(all["checkpoint"] == trained().checkpoint.string());
  CHECK(all["epoch"] == 2);
  CHECK(all["step"] == 30);
  REQUIRE(all["sets"].size() == 1);
  CHECK(all["sets"][0]["samples"] == 359);
  const auto& metrics = all["sets"][0]["metrics"];
  CHECK(metrics.size() == 2);
  for (const char* name : {"validation/loss", "validation/accuracy"})
    CHECK(metrics[name].get<double>() == read_last_metric(trained().folder, name));
}

TEST_CASE("a run, a checkpoint and a safetensors file are accepted as weights, and the output names the file") {
  const auto latest = evaluate({});
  CHECK(evaluate({"--checkpoint", trained().folder.string()}) == latest);
  CHECK(evaluate({"--checkpoint", trained().checkpoint.string()}) == latest);
  const auto file = evaluate({"--checkpoint", (trained().checkpoint / "model.safetensors").string()});
  CHECK(file["checkpoint"].is_null());
  CHECK(file["sets"] == latest["sets"]);
  const Outcome text = run_host(trained().command("evaluate", {}));
  CHECK(text.output.find("weights " + tenon::support::show_path(trained().checkpoint) + " (epoch 2, step 30)\n") == 0);
  CHECK(contains(text.output, "\nvalidation: digits, 359 samples, "));
  CHECK(contains(text.output, "\n  validation/accuracy  0."));
}

TEST_CASE("host evaluate accepts other data and every named validation dataset") {
  const auto training = evaluate({"--data", "train"});
  REQUIRE(training["sets"].size() == 1);
  CHECK(training["sets"][0]["samples"] == 1438);
  CHECK(training["sets"][0]["metrics"].contains("train/accuracy"));
  // It is read like validation data: whole, and in order.
  CHECK(evaluate({"--data", "train", "--set", "data.limit_batches=1"}) == training);
  const std::vector<std::string> two{
      "--set",
      "data.validation={a={use=\"digits\",params={split=\"test\"}},b={use=\"digits\",params={split=\"test\"}}}"};
  const auto both = evaluate(two);
  REQUIRE(both["sets"].size() == 2);
  CHECK(both["sets"][0]["metrics"]["validation/a/loss"] == both["sets"][1]["metrics"]["validation/b/loss"]);
  CHECK(evaluate(joined(two, {"--data", "validation/b"}))["sets"].size() == 1);
}

TEST_CASE("weights that are damaged, missing or from another model are refused") {
  const fs::path damaged = make_empty_folder("damaged") / "step-00000030";
  fs::copy(trained().checkpoint, damaged);
  std::string bytes = read_file(damaged / "model.safetensors");
  bytes.back() = static_cast<char>(~bytes.back());
  write_file(damaged / "model.safetensors", bytes);
  for (const char* name : {"evaluate", "predict"}) {
    std::vector<std::string> more;
    if (name == std::string("predict")) more = {"--data", "validation", "--output", "refused.csv"};
    const auto refused = [&](const std::vector<std::string>& arguments, const std::string& message) {
      check_refused(name, joined(arguments, more), 5, message);
    };
    for (const fs::path& path : {damaged, damaged / "model.safetensors"})
      refused({"--checkpoint", path.string()}, "model.safetensors: its XXH128 is ");
    refused({"--checkpoint", "nowhere"},
            "nowhere: does not exist; expected \"latest\", \"best\", the folder of a checkpoint");
    refused({"--set", "run.name=other"}, "other: no run found; train first");
    refused({"--set", "model.params.hidden=[7]"}, "does not fit the model; expected the model of its run: --config ");
    refused({"--set", "model.params.hidden=[10]"}, "tensors fit; expected the model of its run: --config ");
  }
  CHECK_FALSE(fs::exists(tenon::test_folder() / "refused.csv"));

  const std::string file = (damaged / "model.safetensors").string();
  const std::string message = "model.safetensors: its XXH128 is ";
  check_refused("export", {"--checkpoint", file, "--output", "refused.safetensors"}, 5, message);
  CHECK_FALSE(fs::exists(tenon::test_folder() / "refused.safetensors"));
  check_errors(run_host({"checkpoint", "diff", file, trained().checkpoint.string()}), 5, {message});
  check_errors(run_host(trained().with({"--set", "model.weights=\"" + file + "\""})), 5, {message});
}

TEST_CASE("every command refuses weights with two flipped bits" * doctest::test_suite("soak") * doctest::skip()) {
  const fs::path damaged = make_empty_folder("flipped") / "step-00000030";
  fs::copy(trained().checkpoint, damaged);
  const std::string file = (damaged / "model.safetensors").string();
  const std::string whole = read_file(file);
  std::mt19937_64 random(22);
  for (int round = 0; round < 200; ++round) {
    std::string bytes = whole;
    for (int flips = 0; flips < 2; ++flips) {
      const uint64_t bit = random() % (8 * bytes.size());
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
    if (bytes == whole) continue;
    write_file(file, bytes);
    CAPTURE(round);
    const std::vector<std::vector<std::string>> commands{
        trained().command("evaluate", {"--checkpoint", file}),
        trained().command("predict", {"--data", "validation", "--output", "refused.csv", "--checkpoint", file}),
        trained().command("export", {"--checkpoint", file, "--output", "refused.safetensors"}),
        {"checkpoint", "diff", file, trained().checkpoint.string()},
        trained().with({"--set", "model.weights=\"" + file + "\""})};
    for (const std::vector<std::string>& command : commands) {
      const Outcome outcome = run_host(command);
      CAPTURE(command.front());
      CHECK(outcome.exit_code == 5);
      CHECK(contains(outcome.errors, "model.safetensors: its XXH128 is "));
    }
  }
}

TEST_CASE("host predict writes the outputs of each sample once, in the order of the dataset") {
  const fs::path folder = make_empty_folder("predictions");
  predict(folder / "all.safetensors", {"--fields", "image,label", "--set", "data.workers=3"});
  const SafetensorsFile predictions(folder / "all.safetensors");
  CHECK(predictions.find("logits")->shape == std::vector<int64_t>{359, 10});
  CHECK(predictions.find("image")->shape == std::vector<int64_t>{359, 1, 8, 8});
  const auto index = read_values<int64_t>(predictions, "index");
  REQUIRE(index.size() == 359);
  for (size_t i = 0; i < index.size(); ++i) CHECK(index[i] == static_cast<int64_t>(i));

  const SafetensorsFile model(trained().checkpoint / "model.safetensors");
  const auto weight = read_values<float>(model, "layers.0.weight"), bias = read_values<float>(model, "layers.0.bias");
  const auto image = read_values<float>(predictions, "image"), logits = read_values<float>(predictions, "logits");
  double largest = 0;
  for (size_t i = 0; i < index.size(); ++i)
    for (size_t k = 0; k < 10; ++k) {
      double expected = bias[k];
      for (size_t j = 0; j < 64; ++j) expected += static_cast<double>(weight[k * 64 + j]) * image[i * 64 + j];
      largest = std::max(largest, std::abs(expected - logits[i * 10 + k]));
    }
  CHECK(largest < 1e-4);
}

TEST_CASE("outputs and fields with the same name, or that of another column, are named by their source") {
  const fs::path folder = make_empty_folder("same_names");
  predict(folder / "first.safetensors", {"--fields", "image,label"});
  const std::string first = (folder / "first.safetensors").string();
  predict(folder / "again.safetensors", {"--set", "data.validation={use=\"arrays\", params={path=\"" + first + "\"}}",
                                         "--fields", "logits,index,label"});
  const SafetensorsFile given(folder / "first.safetensors"), again(folder / "again.safetensors");
  CHECK(again.tensors().size() == 5);
  const auto logits = read_values<float>(given, "logits");
  CHECK(read_values<float>(again, "data.logits") == logits);
  CHECK(read_values<float>(again, "model.logits") == logits);
  CHECK(read_values<int64_t>(again, "data.index") == read_values<int64_t>(given, "index"));
  CHECK(read_values<int64_t>(again, "index") == read_values<int64_t>(given, "index"));
  CHECK(read_values<int64_t>(again, "label") == read_values<int64_t>(given, "label"));
}

TEST_CASE("predicted classes have the accuracy of the run, and probabilities sum to 1") {
  const fs::path folder = make_empty_folder("tables");
  predict(folder / "classes.csv", {"--apply", "argmax", "--fields", "label"});
  const auto rows = read_csv(folder / "classes.csv");
  REQUIRE(rows.size() == 360);
  CHECK(rows[0] == std::vector<std::string>{"index", "logits.argmax", "label"});
  size_t correct = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i][0] == std::to_string(i - 1));
    correct += rows[i][1] == rows[i][2];
  }
  CHECK(static_cast<double>(correct) / 359 == read_last_metric(trained().folder, "validation/accuracy"));

  predict(folder / "all.csv", {"--apply", "logits=softmax", "--apply", "sigmoid"});
  const auto all = read_csv(folder / "all.csv");
  REQUIRE(all.size() == 360);
  REQUIRE(all[0].size() == 21);
  CHECK(all[0][1] == "logits.softmax.0");
  CHECK(all[0][20] == "logits.sigmoid.9");
  double sum = 0;
  for (size_t k = 1; k <= 10; ++k) sum += std::stod(all[1][k]);
  CHECK(sum == doctest::Approx(1).epsilon(1e-6));
  // log(p_0 / p_1) = logit_0 - logit_1. The same holds for the sigmoid.
  const auto logit = [&](size_t k) { return std::log(std::stod(all[1][k]) / (1 - std::stod(all[1][k]))); };
  CHECK(std::log(std::stod(all[1][1]) / std::stod(all[1][2])) == doctest::Approx(logit(11) - logit(12)).epsilon(1e-4));
}

TEST_CASE("a subset of the data keeps the indices of its samples") {
  const fs::path folder = make_empty_folder("part");
  require_success(run_host(trained().command(
      "predict", {"--data", "validation", "--output", (folder / "part.csv").string(), "--set",
                  "data.validation.subset=\"10%\"", "--set", "data.validation_limit_batches=1", "--set",
                  "data.validation_batch_size=8", "--outputs", "none", "--fields", "label"})));
  const auto rows = read_csv(folder / "part.csv");
  REQUIRE(rows.size() == 35 + 1);
  CHECK(rows[0] == std::vector<std::string>{"index", "label"});
  CHECK(rows.back()[0] != "34");
  for (size_t i = 2; i < rows.size(); ++i) CHECK(std::stoi(rows[i - 1][0]) < std::stoi(rows[i][0]));
}

TEST_CASE("wrong arguments of evaluate and predict are refused with the expected ones") {
  const auto refused = [](const std::vector<std::string>& more, const std::string& message) {
    check_refused("predict", joined({"--data", "validation", "--output", "refused.csv"}, more), 2, message);
    CHECK_FALSE(fs::exists(tenon::test_folder() / "refused.csv"));
  };
  refused({"--outputs", "logit"}, "--outputs names \"logit\"; did you mean \"logits\"?");
  refused({"--fields", "labels"}, "--fields names \"labels\"; did you mean \"label\"?");
  refused({"--fields", "label,label"}, "the name \"label\" occurs twice");
  refused({"--fields", "image"}, "image of a sample is [1, 8, 8]; expected a number, or a vector of up to 4096");
  refused({"--apply", "soft_max"}, "--apply names the function \"soft_max\"; did you mean \"softmax\"?");
  refused({"--apply", "values=argmax"}, "--apply names \"values\"");
  refused({"--outputs", "none", "--apply", "argmax"}, "--apply argmax needs exactly one output, but 0 are written");
  check_refused("predict", {"--data", "validation", "--output", "refused.txt"}, 2,
                "--output is \"refused.txt\"; expected a name that ends in .csv, .jsonl or .safetensors");
  check_refused("predict", {"--data", "validaton", "--output", "refused.csv"}, 2, "did you mean \"validation\"?");
  check_refused("predict", {"--data", "validation"}, 2, "none of --output, --masks and --page is given");
  check_refused("evaluate", {"--data", "test"}, 2, "--data is \"test\"");
  CHECK(run_host({"evaluate"}).errors.find("evaluate has no --config") != std::string::npos);
  CHECK(run_host({"evalute", "--config", kDigits}).errors.find("did you mean host evaluate?") != std::string::npos);
}

}  // namespace evaluate_test
