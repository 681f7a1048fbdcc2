// Tests the description in exported models, as Python reads it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using nlohmann::json;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

constexpr int kSide = 8;
constexpr int kInputs = 3 * kSide * kSide;

struct Colour {
  const char* name;
  int red, green, blue;
};
constexpr Colour kColours[] = {{"grass", 40, 180, 50}, {"sea", 30, 60, 190}, {"sunset", 200, 90, 40}};

// Returns the images, in the order of the dataset: by class, then by name.
std::vector<fs::path> write_coloured_images(const fs::path& root) {
  std::vector<fs::path> files;
  for (const Colour& colour : kColours)
    for (int number = 0; number < 6; ++number) {
      std::string text = "P6\n8 8\n255\n";
      for (int pixel = 0; pixel < kSide * kSide; ++pixel)
        for (const int value : {colour.red, colour.green, colour.blue})
          text += static_cast<char>(value + (pixel * 11 + number * 17) % 50);
      files.push_back(write_file(root / colour.name / (std::to_string(number) + ".ppm"), text));
    }
  return files;
}

std::string in_quotes(const fs::path& path) { return "\"" + path.string() + "\""; }

// A linear model of images of three colours, trained once for all tests.
struct LinearRun {
  LinearRun() : folder(make_empty_folder("linear")), files(write_coloured_images(folder / "images")) {
    const auto dataset = [&](const std::string& name, const std::string& augmentation) {
      return "[data." + name + "]\nuse = \"image_folder\"\nparams = { path = " + in_quotes(folder / "images") +
             ", transforms = [" + augmentation +
             "\"resize(8)\", \"center_crop(8)\", \"normalize(std=(0.25, 0.3, 0.35))\"] }\n";
    };
    config = write_file(folder / "linear.toml",
                        "[run]\noutput_dir = " + in_quotes(folder / "runs") +
                            "\n[model]\nuse = \"mlp\"\nparams = { inputs = " + std::to_string(kInputs) +
                            ", hidden = [], classes = 3 }\n[data]\nbatch_size = 6\nworkers = 0\n" +
                            dataset("train", "\"horizontal_flip()\", ") + dataset("validation", "") +
                            "[[loss]]\nuse = \"cross_entropy\"\n[train]\nepochs = 4\n[optimizer]\nuse = \"adamw\"\n"
                            "lr = 1e-2\n")
                 .string();
    require_success(run_host({"--config", config}));
  }

  Outcome command(const std::vector<std::string>& arguments) const {
    return run_host(joined(arguments, {"--config", config}));
  }

  fs::path folder;
  std::vector<fs::path> files;
  std::string config;
};

const LinearRun& linear_run() {
  static const LinearRun run;
  return run;
}

std::string run_python(const std::string& script, const std::vector<fs::path>& arguments) {
  const fs::path out = make_empty_folder("python") / "printed";
  std::string command = "python3 '" TENON_SOURCE_DIR "/tests/evaluation/" + script + "'";
  for (const fs::path& argument : arguments) command += " '" + argument.string() + "'";
  REQUIRE(std::system((command + " >'" + out.string() + "'").c_str()) == 0);
  return read_file(out);
}

json read_description(const fs::path& file) { return json::parse(run_python("read_description.py", {file})); }

fs::path export_model(const std::string& name, const std::vector<std::string>& more = {}) {
  fs::path file = make_empty_folder("exported") / name;
  require_success(linear_run().command(joined({"export", "--output", file.string()}, more)));
  return file;
}

// Returns the cells of each row, without the header.
std::vector<std::vector<std::string>> predict_rows() {
  const fs::path file = make_empty_folder("predicted") / "all.csv";
  require_success(linear_run().command({"predict", "--data", "validation", "--output", file.string()}));
  const std::vector<std::string> lines = parts_of(read_file(file), '\n');
  const std::vector<std::string> header = parts_of(lines.at(0), ',');
  const auto first = std::ranges::find(header, "logits.grass") - header.begin();
  REQUIRE(first + 2 < std::ssize(header));
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = parts_of(lines[i], ',');
    rows.emplace_back(cells.begin() + first, cells.begin() + first + 3);
  }
  return rows;
}

const json kSteps = json::parse(R"([
  {"name": "decode", "color": "RGB", "dtype": "uint8"},
  {"name": "resize", "size": 8, "interpolation": "bilinear", "max_size": "none", "antialias": true},
  {"name": "center_crop", "size": 8},
  {"name": "normalize", "divide_by": 255, "mean": [0.485, 0.456, 0.406], "std": [0.25, 0.3, 0.35]}])");

}  // namespace

TEST_CASE("exported models describe inputs, outputs, classes and data") {
  for (const char* name : {"a.safetensors", "a.pt"}) {
    CAPTURE(name);
    const json description = read_description(export_model(name));
    CHECK(description["format"] == 1);
    CHECK(description["model"]["component"] == "mlp");
    CHECK(description["model"]["version"] == "0.1.0");
    CHECK(description["model"]["params"] == json{{"inputs", kInputs}, {"hidden", json::array()}, {"classes", 3}});
    CHECK(description["class_names"] == json{{"label", {"grass", "sea", "sunset"}}});
    REQUIRE(description["inputs"].size() == 1);
    const json& input = description["inputs"][0];
    CHECK(input["dtype"] == "float32");
    CHECK(input["shape"] == json{nullptr, 3, kSide, kSide});
    CHECK(input["field"] == "image");
    CHECK(input["preprocessing"] == kSteps);
    REQUIRE(description["outputs"].size() == 1);
    CHECK(description["outputs"][0]["name"] == "logits");
    CHECK(description["outputs"][0]["shape"] == json{nullptr, 3});
    const json& data = description["data"];
    CHECK(data["name"] == "validation");
    CHECK(data["component"] == "image_folder");
    CHECK(data["params"]["split"] == "all");
    CHECK(data["params"]["scaled_decoding"] == true);
    CHECK(data["params"]["transforms"].size() == 3);
    CHECK_MESSAGE(!data["params"].contains("path"), "the file would name folders of this machine");
  }
}

TEST_CASE("a prediction in Python from the metadata alone equals that of host predict") {
  const LinearRun& run = linear_run();
  std::vector<fs::path> arguments{export_model("weights.safetensors")};
  arguments.insert(arguments.end(), run.files.begin(), run.files.end());
  const json predictions = json::parse(run_python("predict_linear.py", arguments));
  const std::vector<std::vector<std::string>> rows = predict_rows();
  REQUIRE(predictions.size() == run.files.size());
  REQUIRE(rows.size() == run.files.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(run.files[i]);
    CHECK(predictions[i]["name"] == run.files[i].parent_path().filename().string());
    for (size_t c = 0; c < 3; ++c) {
      // The rounding errors of a float32 sum of n products are at most n units of 2^-24 of the sum of their absolute
      // values. Normalising adds some units to each input.
      const double bound = (kInputs + 8) * std::ldexp(1.0, -24) * predictions[i]["sums"][c].get<double>();
      CHECK(std::abs(predictions[i]["scores"][c].get<double>() - std::stod(rows[i][c])) <= bound);
    }
  }
}

TEST_CASE("the normalisation of whole batches is part of the description") {
  const json description = read_description(
      export_model("b.safetensors", {"--set", "data.batch_transform=[{use=\"normalize\",mean=[0.5],std=[0.25]}]",
                                     "--set", "data.train.params.transforms=[\"resize((8, 8))\"]", "--set",
                                     "data.validation.params.transforms=[\"resize((8, 8))\"]"}));
  const json& input = description["inputs"][0];
  CHECK(input["shape"] == json{nullptr, 3, kSide, kSide});
  CHECK(input["preprocessing"].back() ==
        json{{"name", "normalize"}, {"divide_by", 255}, {"mean", {0.5}}, {"std", {0.25}}});
}

TEST_CASE("weights are exported without their data, and the output names what the metadata lack") {
  const fs::path file = make_empty_folder("without") / "a.safetensors";
  const Outcome outcome = require_success(
      linear_run().command({"export", "--output", file.string(), "--set", "data.validation.params.path=\"nowhere\""}));
  CHECK(contains(outcome.output,
                 "the metadata lack the data's shapes and preprocessing, because the data cannot be opened: "));
  const json description = read_description(file);
  CHECK(description["model"]["component"] == "mlp");
  CHECK(description["class_names"]["label"].size() == 3);
  CHECK(description["inputs"][0] == json{{"name", "image"}, {"dtype", nullptr}, {"shape", nullptr}});
  CHECK_FALSE(description.contains("data"));
}
