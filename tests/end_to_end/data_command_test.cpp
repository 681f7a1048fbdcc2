// Tests host data.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace data_command_test {

using namespace tenon::end_to_end;
using tenon::count_parts;
using tenon::test_folder;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits.toml";

Outcome run_data(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"data", "--config", kDigits});
  return run_host(arguments);
}

}  // namespace

TEST_CASE("host data prints the fields and times the loader") {
  const Outcome outcome = require_success(run_data({"--seconds", "0.2"}));
  CHECK(outcome.output.find("train: digits (digits ") == 0);
  CHECK(outcome.output.find("1438 samples, 23 batches of 64\n") != std::string::npos);
  CHECK(outcome.output.find("image            float32  [1, 8, 8]          256 bytes\n") != std::string::npos);
  CHECK(outcome.output.find("label            int64    []                 8 bytes\n") != std::string::npos);
  CHECK(outcome.output.find(" samples/s, ") != std::string::npos);
  CHECK(outcome.errors.empty());
}

TEST_CASE("host data needs only [data]") {
  const fs::path file =
      write_file(test_folder() / "data.toml", "[data]\nbatch_size = 64\n[data.train]\nuse = \"digits\"\n");
  const Outcome shown = require_success(run_host({"data", file.string(), "--seconds", "0.1"}));
  CHECK(shown.output.find("1438 samples, 23 batches of 64\n") != std::string::npos);
  require_success(run_host({"data", file.string(), "--all"}));
  check_errors(run_host({"--config", file.string()}), 2, {"model.use is missing", "there is no loss"});
  // What is there is still checked.
  write_file(file, "[model]\nuse = \"mlpp\"\n[data]\nbatch_size = 64\n[data.train]\nuse = \"digits\"\n");
  check_errors(run_host({"data", file.string()}), 2, {"model.use is \"mlpp\""});
}

TEST_CASE("the numbers of host data are consistent") {
  const Outcome outcome = require_success(
      run_data({"--json", "--seconds", "0.3", "--step-ms", "5", "--data", "validation", "--set", "data.workers=1"}));
  const auto all = nlohmann::json::parse(outcome.output);
  CHECK(all["dataset"] == "validation");
  CHECK(all["samples"] == 359);
  CHECK(all["batches"] == 6);
  CHECK(all["fields"][0]["shape"] == std::vector<int>{1, 8, 8});
  const auto& loader = all["loader"];
  CHECK(loader["seconds"] >= 0.3);
  const double batches = loader["batches"];
  CHECK(batches * 0.005 <= loader["seconds"].get<double>());
  CHECK(loader["bytes"] == loader["samples"].get<int64_t>() * (256 + 8));
  CHECK(loader["samples_per_s"].get<double>() ==
        doctest::Approx(loader["samples"].get<double>() / loader["seconds"].get<double>()));
  for (const char* share : {"wait_share", "busy_share"}) {
    CHECK(loader[share] >= 0);
    CHECK(loader[share] <= 1);
  }
}

TEST_CASE("a page shows the samples of an epoch and is reproducible") {
  const fs::path folder = make_empty_folder("sheet");
  const auto draw = [&](const std::string& name) {
    const Outcome outcome = require_success(run_data(
        {"--seconds", "0", "--samples", "70", "--sheet", (folder / name).string(), "--set", "data.workers=3"}));
    CHECK(outcome.output.find("samples rendered to ") != std::string::npos);
    return read_file(folder / name);
  };
  const std::string page = draw("a.html");
  CHECK(count_parts(page, "<figure>") == 70);
  CHECK(count_parts(page, "data:image/png;base64,") == 70);
  CHECK(count_parts(page, "label: ") == 70);
  CHECK(page.find("train: 70 samples of digits") != std::string::npos);
  CHECK(draw("b.html") == page);
}

TEST_CASE("host data --all reads every sample of every dataset once") {
  const Outcome outcome = require_success(run_data({"--all"}));
  CHECK(outcome.output.find("train: digits, 1438 samples read\n  image  float32  [1, 8, 8]  0 to ") == 0);
  CHECK(outcome.output.find("\nvalidation: digits, 359 samples read\n") != std::string::npos);
  CHECK(outcome.output.find("\n0 errors, 0 warnings\n") != std::string::npos);
  CHECK(outcome.errors.empty());

  const Outcome one = require_success(run_data({"--all", "--json", "--data", "validation", "--set", "data.workers=2"}));
  const auto report = nlohmann::json::parse(one.output);
  REQUIRE(report["datasets"].size() == 1);
  CHECK(report["datasets"][0]["samples"] == 359);
  const auto& label = report["datasets"][0]["fields"][1];
  CHECK(label["largest"] == 9);
  int64_t samples = 0;
  for (const auto& count : label["samples_of_classes"]) samples += count.get<int64_t>();
  CHECK(samples == 359);
  CHECK(report["findings"].empty());
}

namespace {

void write_image(const fs::path& file, cv::Size size, int grey) {
  fs::create_directories(file.parent_path());
  cv::Mat image(size, CV_8UC3, cv::Scalar(grey, grey, grey));
  image.at<cv::Vec3b>(0, 0) = {255, 0, 0};
  REQUIRE(cv::imwrite(file.string(), image));
}

}  // namespace

TEST_CASE("host data --all lists every file that cannot be read, and what is suspicious") {
  const fs::path folder = make_empty_folder("animals");
  for (int i = 0; i < 5; ++i) write_image(folder / "train/cat" / (std::to_string(i) + ".png"), {8 + i, 20 - i}, 9 * i);
  for (int i = 0; i < 4; ++i) write_image(folder / "train/dog" / (std::to_string(i) + ".png"), {8, 8}, 100);
  write_image(folder / "validation/cat/0.png", {8, 8}, 1);
  for (const char* name : {"train/cat/2.png", "train/dog/3.png"}) write_file(folder / name, "<html>not found</html>");
  const std::string config = write_file(folder / "run.toml", R"(
[model]
use = "mlp"
[[loss]]
use = "cross_entropy"
[train]
epochs = 1
[optimizer]
use = "sgd"
lr = 0.1
[data]
batch_size = 4
[data.train]
use = "image_folder"
params = { path = "train", split = "all", transforms = [] }
[data.validation]
use = "image_folder"
params = { path = "validation", split = "all", transforms = [] }
[data.test]
use = "image_folder"
params = { path = "nowhere", split = "all", transforms = [] }
)")
                                 .string();
  for (const char* workers : {"0", "2"}) {
    const Outcome outcome =
        run_host({"data", "--config", config, "--all", "--json", "--set", std::string("data.workers=") + workers});
    CAPTURE(outcome.output);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 4);
    const auto report = nlohmann::json::parse(outcome.output);
    REQUIRE(report["datasets"].size() == 2);
    const auto& train = report["datasets"][0];
    CHECK(train["samples"] == 7);
    CHECK(train["unreadable"] == 2);
    CHECK(train["fields"][0]["smallest_shape"] == std::vector<int>{8, 8, 3});
    CHECK(train["fields"][0]["largest_shape"] == std::vector<int>{20, 12, 3});
    CHECK(train["fields"][1]["samples_of_classes"] == std::vector<int>{4, 3});
    const auto has = [&](const std::string& level, const std::string& dataset, const std::string& part) {
      return std::ranges::count_if(report["findings"], [&](const auto& finding) {
        return finding["level"] == level && finding["dataset"] == dataset &&
               finding["message"].template get<std::string>().find(part) != std::string::npos;
      });
    };
    CHECK(has("error", "train", "train/cat/2.png") == 1);
    CHECK(has("error", "train", "train/dog/3.png") == 1);
    CHECK(has("error", "test", "nowhere") == 1);
    CHECK(has("warning", "train", "image: the samples have shapes from [8, 8, 3] to [20, 12, 3]") == 1);
    CHECK(has("warning", "train", "the last of 3 batches of 4 has one sample") == 1);
    CHECK(has("warning", "validation", "\"dog\"") == 1);
    CHECK(outcome.errors.empty());
  }
  const Outcome text = run_host({"data", "--config", config, "--all"});
  CHECK(text.exit_code == 4);
  CHECK(text.output.find("train: image_folder, 7 samples read, 2 cannot be read\n") == 0);
  CHECK(text.output.find("\n3 errors, ") != std::string::npos);
}

TEST_CASE("wrong arguments of host data are refused with the expected ones") {
  for (const auto& [arguments, expected] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--data", "valdation"}, "--data is \"valdation\"; did you mean \"validation\"?"},
           {{"--seconds", "-1"}, "--seconds is -1"},
           {{"--samples", "0"}, "--samples is 0"},
           {{"--sheet", "/nowhere/a.html"}, "/nowhere/a.html"},
           {{"--all", "--seconds", "3"}, "--seconds is given with --all"},
       }) {
    const std::string& message = expected;
    CAPTURE(message);
    check_errors(run_data(arguments), 2, {message});
  }
  CHECK(run_host({"data"}).exit_code == 2);
}

}  // namespace data_command_test
