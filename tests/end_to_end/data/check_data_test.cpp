// Tests that host data reads the data as the run does.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/hosted_run.h"

namespace check_data_test {

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

std::string write_run_file(const fs::path& folder, const std::string& model, const std::string& train,
                           const std::string& more = "[[loss]]\nuse = \"cross_entropy\"\n") {
  return write_file(folder / "run.toml", "[run]\noutput_dir = \"runs\"\nthreads = 1\n[model]\n" + model + "\n" + more +
                                             "[train]\nsteps = 1\n[optimizer]\nuse = \"sgd\"\nlr = 0.1\n"
                                             "[data]\nbatch_size = 4\n[data.train]\n" +
                                             train + "\n[data.validation]\nlike = \"train\"\n")
      .string();
}

struct Found {
  int exit_code;
  nlohmann::json report;

  // The number of findings with this level, dataset and part of the message.
  int64_t count(const std::string& level, const std::string& dataset, const std::string& part) const {
    int64_t found = 0;
    for (const auto& finding : report["findings"])
      found += finding["level"] == level && finding["dataset"] == dataset &&
               finding["message"].get<std::string>().find(part) != std::string::npos;
    return found;
  }
  int64_t count_errors() const { return count("error", "train", "") + count("error", "validation", ""); }
};

Found run_data(const std::string& file, const std::vector<std::string>& more) {
  const Outcome outcome = run_host(joined({"data", "--config", file, "--json"}, more));
  CAPTURE(outcome.output);
  CAPTURE(outcome.errors);
  REQUIRE(!outcome.output.empty());
  return {outcome.exit_code, nlohmann::json::parse(outcome.output)};
}

// `path`: of the validation data.
Found check_all(const std::string& file, const std::string& path, const std::vector<std::string>& more = {}) {
  return run_data(file, joined({"--all", "--set", "data.validation.params.path=" + path}, more));
}

void write_classes(const fs::path& folder, const std::vector<std::string>& classes, cv::Size second = {8, 8}) {
  for (const std::string& name : classes) {
    fs::create_directories(folder / name);
    for (int i = 0; i < 4; ++i) {
      cv::Mat image(i % 2 ? second : cv::Size{8, 8}, CV_8UC3, cv::Scalar(9 * i, 90, 7));
      image.at<cv::Vec3b>(0, 0) = {255, 0, 0};
      REQUIRE(cv::imwrite((folder / name / (std::to_string(i) + ".png")).string(), image));
    }
  }
}

}  // namespace

TEST_CASE("host data --all reads the rows of a table with the columns and categories of the training data") {
  const fs::path folder = make_empty_folder("tables");
  const auto write = [&](const std::string& name, const std::string& header, const auto& make_row) {
    std::string text = header + "\n";
    for (int i = 0; i < 12; ++i) text += make_row(i) + "\n";
    write_file(folder / name, text);
  };
  const auto number = [](int i) { return std::to_string(i); };
  write("train.csv", "c,x,y",
        [&](int i) { return std::string(i % 2 ? "a," : "b,") + number(i) + (i % 2 ? ",u" : ",v"); });
  write("new.csv", "c,x,y",
        [&](int i) { return std::string(i % 3 ? "a," : "z,") + number(i) + (i % 2 ? ",u" : ",v"); });
  write("lacks.csv", "c,y", [&](int i) { return std::string(i % 2 ? "a," : "b,") + (i % 2 ? "u" : "v"); });
  write("class.csv", "c,x,y", [&](int i) { return "a," + number(i) + (i % 2 ? ",u" : ",w"); });
  const std::string file =
      write_run_file(folder, "use = \"mlp\"\nparams = { hidden = [4] }",
                     "use = \"table\"\nparams = { path = \"train.csv\", target = \"y\", task = \"classification\" }");
  for (const std::vector<std::string>& which : {std::vector<std::string>(), {"--data", "validation"}}) {
    const Found same = check_all(file, "train.csv", which);
    CHECK(same.exit_code == 0);
    CHECK(same.report["findings"].empty());
    const Found category = check_all(file, "new.csv", which);
    CHECK(category.exit_code == 0);
    CHECK(category.report["datasets"].back()["fields"][0]["largest_shape"] == std::vector<int>{3});
    CHECK(category.count("warning", "validation", "categories that no training row has") == 1);
    const Found lacking = check_all(file, "lacks.csv", which);
    CHECK(lacking.exit_code == 4);
    CHECK(lacking.count("error", "validation", "there is no column \"x\"") == 1);
    const Found unknown = check_all(file, "class.csv", which);
    CHECK(unknown.exit_code == 4);
    CHECK(unknown.count("error", "validation", "\"w\" is none of the 2 classes") == 1);
  }
  // Without --all, the other datasets are opened.
  const Found opened = run_data(file, {"--seconds", "0", "--set", "data.validation.params.path=lacks.csv"});
  CHECK(opened.exit_code == 4);
  CHECK(opened.report["dataset"] == "train");
  CHECK(opened.count("error", "validation", "there is no column \"x\"") == 1);
  CHECK(run_data(file, {"--seconds", "0", "--data", "train", "--set", "data.validation.params.path=lacks.csv"})
            .exit_code == 0);
}

TEST_CASE("host data --all reads text with the vocabulary of the training data") {
  const fs::path folder = make_empty_folder("texts");
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the quick brown fox jumps over a lazy dog\n";
  write_file(folder / "train.txt", text);
  write_file(folder / "other.txt", text + "Zebra\n");
  const std::string file =
      write_run_file(folder, "use = \"gpt\"\nparams = { context = 16, layers = 1, heads = 2, width = 16 }",
                     "use = \"text_windows\"\nparams = { path = \"train.txt\", context = 16, tokens = \"characters\" }",
                     "[[loss]]\nuse = \"sequence_cross_entropy\"\n");
  for (const std::vector<std::string>& which : {std::vector<std::string>(), {"--data", "validation"}}) {
    CHECK(check_all(file, "train.txt", which).exit_code == 0);
    const Found unknown = check_all(file, "other.txt", which);
    CHECK(unknown.exit_code == 4);
    CHECK(unknown.count("error", "validation", "the character \"Z\" is not one of the") == 1);
  }
}

TEST_CASE("host data numbers the classes of every dataset as the training data") {
  const fs::path folder = make_empty_folder("classes");
  write_classes(folder / "train", {"cat", "dog", "fox"});
  write_classes(folder / "fewer", {"cat", "fox"});
  write_classes(folder / "owl", {"cat", "owl"});
  const std::string file =
      write_run_file(folder, "use = \"small_cnn\"",
                     "use = \"image_folder\"\nparams = { path = \"train\", transforms = [\"normalize()\"] }");
  for (const std::vector<std::string>& which : {std::vector<std::string>(), {"--data", "validation"}}) {
    const Found fewer = check_all(file, "fewer", which);
    CHECK(fewer.exit_code == 0);
    CHECK(fewer.count("warning", "validation", "2 of the 3 classes") == 1);
    CHECK(fewer.report["datasets"].back()["fields"][1]["samples_of_classes"] == std::vector<int>{4, 0, 4});
    const Found owl = check_all(file, "owl", which);
    CHECK(owl.exit_code == 4);
    CHECK(owl.count("error", "validation", "\"owl\" is not among them") == 1);
  }
  // The training data are missing: that is the only error, and the others are read by themselves.
  const Found missing = check_all(file, "fewer", {"--data", "validation", "--set", "data.train.params.path=nowhere"});
  CHECK(missing.exit_code == 4);
  CHECK(missing.count_errors() == 1);
  CHECK(missing.count("error", "train", "nowhere") == 1);

  const std::vector<std::string> plain{"--seconds", "0", "--data", "validation", "--set"};
  CHECK(run_data(file, joined(plain, {"data.validation.params.path=fewer"})).report["class_names"]["label"] ==
        std::vector<std::string>{"cat", "dog", "fox"});
  check_errors(run_host({"data", "--config", file, "--seconds", "0", "--data", "validation", "--set",
                         "data.validation.params.path=owl"}),
               4, {"\"owl\" is not among them"});
  const Found opened = run_data(file, {"--seconds", "0", "--set", "data.validation.params.path=fewer"});
  CHECK(opened.exit_code == 0);
  CHECK(opened.count("warning", "validation", "2 of the 3 classes") == 1);
}

TEST_CASE("host data --all reports images of which one side varies") {
  const fs::path folder = make_empty_folder("sizes");
  write_classes(folder / "wide", {"cat", "dog"}, {12, 8});
  const std::string file =
      write_run_file(folder, "use = \"small_cnn\"",
                     "use = \"image_folder\"\nparams = { path = \"wide\", transforms = [\"normalize()\"] }");
  const Found found = check_all(file, "wide");
  CHECK(found.exit_code == 0);
  CHECK(found.count("warning", "train", "image: the samples have shapes from [3, 8, 8] to [3, 8, 12]") == 1);
}

namespace {

// A NumPy array of numbers from `make`, [rows, width], or [rows] if width is 0.
template <class Number>
void write_npy(const fs::path& file, const std::string& dtype, int rows, int width, const auto& make) {
  std::string header = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" + std::to_string(rows) + "," +
                       (width > 0 ? std::to_string(width) : "") + "), }";
  header.resize(117, ' ');
  std::string text = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n";
  for (int i = 0; i < rows * std::max(width, 1); ++i) {
    const Number number = make(i);
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  write_file(file, text);
}

std::string write_arrays_run(const fs::path& folder, int64_t last, float value) {
  write_npy<float>(folder / "x.npy", "<f4", 12, 3, [&](int i) { return value * static_cast<float>(i % 5); });
  write_npy<int64_t>(folder / "y.npy", "<i8", 12, 0, [&](int i) { return i == 11 ? last : i % 2; });
  return write_run_file(folder,
                        "use = \"mlp\"\nparams = { hidden = [4], classes = 2 }\ninputs = { image = \"data.x\" }",
                        "use = \"arrays\"\nparams = { path = \".\" }",
                        "[[loss]]\nuse = \"cross_entropy\"\ninputs = { target = \"data.y\" }\n");
}

}  // namespace

TEST_CASE("host data --all compares class numbers with the classes of the model and the number that the loss ignores") {
  const std::string file = write_arrays_run(make_empty_folder("last"), 2, 1);
  const Found found = check_all(file, ".");
  CHECK(found.exit_code == 4);
  CHECK(found.count(
            "error", "train",
            "y: 1 sample (sample 11) with numbers that are none of the 2 classes; expected numbers below that") == 1);
  CHECK(check_all(file, ".", {"--set", "model.params.classes=3"}).exit_code == 0);
  const Found ignored = check_all(file, ".", {"--set", "loss.0.params.ignore_index=2"});
  CHECK(ignored.exit_code == 0);
  CHECK(ignored.count("warning", "train", "none of the 2 classes") == 0);
  CHECK(check_all(write_arrays_run(make_empty_folder("good"), 1, 1), ".").report["findings"].empty());
}

TEST_CASE("--check ends if a loss of the first batch is not finite, as the run does") {
  const std::string file = write_arrays_run(make_empty_folder("nan"), 1, std::numeric_limits<float>::quiet_NaN());
  check_errors(run_host({"--config", file, "--check"}), 7, {"is NaN in step 1 (data.x of train sample"});
  CHECK(run_host({"--config", file, "--check", "--set", "train.non_finite=skip"}).exit_code == 0);
}

TEST_CASE("warnings of a dataset name it") {
  const fs::path folder = make_empty_folder("named");
  write_classes(folder / "train", {"Cat", "cat"});
  const std::string file =
      write_run_file(folder, "use = \"small_cnn\"",
                     "use = \"image_folder\"\nparams = { path = \"train\", transforms = [\"normalize()\"] }");
  const Outcome outcome = require_success(run_host({"--config", file, "--check"}));
  for (const std::string name : {"train", "validation"})
    CHECK(outcome.errors.find("warning: " + name + ": image_folder: ") != std::string::npos);
  const Found found = run_data(file, {"--seconds", "0"});
  for (const std::string name : {"train", "validation"})
    CHECK(found.count("warning", name, "differ only in case") == 1);
  CHECK(found.count("warning", "train", "train: image_folder") == 0);
}

}  // namespace check_data_test
