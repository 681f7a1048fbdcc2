// The task of a practitioner with a folder of pictures: look at the data, find a learning rate, fine-tune, evaluate on
// other folders, export and predict.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kPictures = 12;  // of each class

// Red, green and blue without noise. The noise is smaller than the distances of the classes, so a linear function of
// the mean colour separates them.
const std::map<std::string, std::vector<int>> kKinds{
    {"forest", {40, 130, 50}}, {"lake", {50, 90, 170}}, {"meadow", {150, 190, 60}}, {"road", {130, 130, 130}}};

// A picture of 12 x 12 pixels. Equal arguments give equal pictures.
void write_picture(const fs::path& path, const std::string& kind, int number) {
  std::string text = "P6\n12 12\n255\n";
  for (int pixel = 0; pixel < 144; ++pixel)
    for (const int value : kKinds.at(kind)) text += static_cast<char>(value + (pixel * 7 + number * 13) % 31);
  write_file(path, text);
}

fs::path make_pictures(const std::string& name, const std::vector<std::string>& kinds) {
  fs::path root = make_empty_folder(name);
  for (const std::string& kind : kinds)
    for (int number = 0; number < kPictures; ++number)
      write_picture(root / kind / (std::to_string(number) + ".ppm"), kind, number);
  return root;
}

std::string as_toml(const fs::path& path) { return "\"" + path.string() + "\""; }

// The run file of a folder. Weights, learning rate and model are settings of the command line.
std::string write_task_file(const fs::path& folder, const fs::path& pictures) {
  const auto dataset = [&](const std::string& name, const std::string& flip) {
    return "[data." + name + "]\nuse = \"image_folder\"\nparams = { path = " + as_toml(pictures) + ", split = \"" +
           name + "\", validation_fraction = 0.3, transforms = [" + flip +
           "\"resize(10)\", \"center_crop(8)\", \"normalize()\"] }\n";
  };
  return write_file(folder / "pictures.toml",
                    "[run]\noutput_dir = " + as_toml(folder / "runs") +
                        "\n[model]\nuse = \"small_cnn\"\nparams = { channels = 3, classes = 3, width = 8 }\n"
                        "[data]\nbatch_size = 8\nworkers = 0\n" +
                        dataset("train", "\"horizontal_flip()\", ") + dataset("validation", "") +
                        "[[loss]]\nuse = \"cross_entropy\"\n[[metric]]\nuse = \"accuracy\"\n"
                        "[train]\nepochs = 8\n[optimizer]\nuse = \"adamw\"\nlr = 1e-3\n")
      .string();
}

Outcome run_in_order(const std::vector<std::string>& arguments) {
  Outcome outcome = run_host(arguments);
  CAPTURE(arguments.front());
  CAPTURE(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  return outcome;
}

// Path of a picture -> the cells of its row, without the sample's number. The rows are in the order of the paths.
std::map<std::string, std::string> predict_pictures(const std::string& config, const fs::path& pictures,
                                                    const std::vector<std::string>& more = {}) {
  const fs::path file = make_empty_folder("predicted") / "all.csv";
  run_in_order(joined(
      {"predict", "--config", config, "--data", "validation", "--fields", "label", "--output", file.string(), "--set",
       "data.validation.params.split=\"all\"", "--set", "data.validation.params.path=" + as_toml(pictures)},
      more));
  std::set<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(pictures))
    if (entry.is_regular_file()) paths.insert(fs::relative(entry.path(), pictures).string());
  const std::vector<std::string> lines = parts_of(read_file(file), '\n');
  REQUIRE(lines.size() == 1 + paths.size());
  std::map<std::string, std::string> rows;
  size_t row = 0;
  for (const std::string& path : paths) {
    const std::string& line = lines[++row];
    rows[path] = line.substr(line.find(',') + 1);
  }
  return rows;
}

// Name of a picture without a label -> name of its most probable class.
std::map<std::string, std::string> classify(const std::string& config, const fs::path& pictures) {
  const fs::path file = make_empty_folder("classified") / "all.csv";
  run_in_order({"predict", "--config", config, "--input", pictures.string(), "--output", file.string()});
  const std::vector<std::string> lines = parts_of(read_file(file), '\n');
  const std::vector<std::string> header = parts_of(lines.at(0), ',');
  const auto name = std::ranges::find(header, "name") - header.begin();
  const auto top = std::ranges::find(header, "top.1") - header.begin();
  CAPTURE(lines[0]);
  REQUIRE(std::max(name, top) < std::ssize(header));
  std::map<std::string, std::string> found;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = parts_of(lines[i], ',');
    REQUIRE(cells.size() == header.size());
    found[cells[static_cast<size_t>(name)]] = cells[static_cast<size_t>(top)];
  }
  return found;
}

double score_of(const Outcome& evaluated) {
  return json::parse(evaluated.output)["sets"][0]["metrics"]["validation/accuracy"].get<double>();
}

}  // namespace

TEST_CASE("a folder of pictures: data, lr-find, fine-tuning, evaluation on other folders, export and prediction") {
  const fs::path folder = make_empty_folder("task");
  const fs::path pictures = make_pictures("pictures", {"forest", "lake", "meadow"});
  const std::string config = write_task_file(folder, pictures);

  // The weights to start from were trained on other classes.
  const fs::path others = make_pictures("others", {"meadow", "road"});
  run_in_order({"--config", write_task_file(make_empty_folder("pretrained"), others), "--set", "optimizer.lr=3e-3",
                "--set", "model.params.classes=2", "--set", "train.epochs=3"});
  const fs::path weights = fs::canonical(find_run_folder(tenon::test_folder() / "pretrained/runs", "pictures") /
                                         "checkpoints/latest/model.safetensors");
  const std::vector<std::string> start{"--set", "model.weights=" + as_toml(weights), "--set",
                                       "model.weights_exclude=[\"classifier.*\"]"};
  const auto with_weights = [&](const std::vector<std::string>& arguments) { return joined(arguments, start); };

  const Outcome data = run_in_order({"data", "--config", config, "--seconds", "0"});
  CHECK(data.output.find("label: 3 classes (\"forest\", \"lake\", \"meadow\")") != std::string::npos);

  const json search = json::parse(run_in_order(with_weights({"lr-find", "--config", config, "--json"})).output);
  REQUIRE(search["suggestion"].is_number());
  const auto rate = search["suggestion"].get<double>();
  CHECK(rate > 1e-6);
  CHECK(rate < 1);

  const Outcome trained =
      run_in_order(with_weights({"--config", config, "--set", "optimizer.lr=" + std::to_string(rate)}));
  CHECK(trained.errors.find("warning") == std::string::npos);
  const fs::path run = find_run_folder(folder / "runs", "pictures");
  const std::string log = read_file(run / "log.txt");
  CHECK(log.find("classifier.weight") != std::string::npos);
  CHECK(read_last_metric(run, "validation/accuracy") == 1);

  // The same weights give each picture the same scores, whichever other folders there are.
  const std::map<std::string, std::string> full = predict_pictures(config, pictures);
  CHECK(full.size() == 3 * kPictures);
  const fs::path fewer = make_pictures("fewer", {"lake", "meadow"});
  std::map<std::string, std::string> remaining = full;
  std::erase_if(remaining, [](const auto& one) { return one.first.starts_with("forest"); });
  CHECK(predict_pictures(config, fewer) == remaining);
  const auto evaluate = [&](const fs::path& path) {
    return run_host({"evaluate", "--config", config, "--json", "--set", "data.validation.params.split=\"all\"", "--set",
                     "data.validation.params.path=" + as_toml(path)});
  };
  CHECK(score_of(evaluate(pictures)) == 1);
  CHECK(score_of(evaluate(fewer)) == 1);
  const Outcome refused = evaluate(make_pictures("more", {"forest", "lake", "meadow", "road"}));
  CAPTURE(refused.errors);
  CHECK(refused.exit_code == 4);
  for (const char* list : {"4 classes (\"forest\", \"lake\", \"meadow\", \"road\")",
                           "3 classes (\"forest\", \"lake\", \"meadow\")", "\"road\" is not among them"})
    CHECK(refused.errors.find(list) != std::string::npos);

  // Exported weights predict the same, and their description names the classes.
  const fs::path exported = folder / "model.safetensors";
  run_in_order({"export", "--config", config, "--output", exported.string()});
  CHECK(predict_pictures(config, fewer, {"--checkpoint", exported.string()}) == remaining);
  run_in_order({"export", "--config", config, "--output", (folder / "model.pt").string()});
  for (const char* name : {"model.safetensors", "model.pt"}) {
    const fs::path printed = folder / "description.json";
    const std::string command = "python3 '" TENON_SOURCE_DIR "/tests/evaluation/read_description.py' '" +
                                (folder / name).string() + "' >'" + printed.string() + "'";
    REQUIRE(std::system(command.c_str()) == 0);
    const json description = json::parse(read_file(printed));
    CHECK(description["class_names"]["label"] == json{"forest", "lake", "meadow"});
    CHECK(description["inputs"][0]["preprocessing"].size() == 4);
  }

  // New pictures without labels.
  const fs::path unlabelled = make_empty_folder("unlabelled");
  std::map<std::string, std::string> expected;
  for (const char* kind : {"forest", "lake", "meadow"})
    for (const int number : {20, 21}) {
      const std::string name = kind + std::to_string(number) + ".ppm";
      write_picture(unlabelled / name, kind, number);
      expected[name] = kind;
    }
  CHECK(classify(config, unlabelled) == expected);
}
