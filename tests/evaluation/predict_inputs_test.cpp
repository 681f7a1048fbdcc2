// `host predict` on unlabelled pictures, names, the most probable classes, JSON lines, and several processes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
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

// A picture of 8 x 8 pixels of one colour with a pattern.
void write_ppm(const fs::path& path, const std::vector<int>& colour, int number) {
  std::string text = "P6\n8 8\n255\n";
  for (int pixel = 0; pixel < 64; ++pixel)
    for (const int value : colour) text += static_cast<char>(value + (pixel * 7 + number * 13) % 31);
  write_file(path, text);
}

const std::map<std::string, std::vector<int>> kColours{
    {"forest", {40, 130, 50}}, {"lake", {50, 90, 170}}, {"road", {130, 130, 130}}};

std::string quoted(const fs::path& path) { return "\"" + path.string() + "\""; }

// A trained run in the folder of the test case: its run file, and 12 labelled pictures in `pictures`.
std::string train_pictures() {
  const fs::path folder = make_empty_folder("run");
  const fs::path pictures = make_empty_folder("pictures");
  for (const auto& [name, colour] : kColours)
    for (int number = 0; number < 4; ++number)
      write_ppm(pictures / name / (std::to_string(number) + ".ppm"), colour, number);
  const std::string data = "use = \"image_folder\"\nparams = { path = " + quoted(pictures) +
                           ", transforms = [\"resize(8)\", \"center_crop(8)\", \"normalize()\"] }\n";
  const std::string config =
      write_file(folder / "pictures.toml",
                 "[run]\nthreads = 1\noutput_dir = " + quoted(folder / "runs") +
                     "\n[model]\nuse = \"small_cnn\"\nparams = { channels = 3, classes = 3, width = 4 }\n"
                     "[data]\nbatch_size = 4\nvalidation_batch_size = 3\nworkers = 0\n[data.train]\n" +
                     data + "[data.validation]\n" + data +
                     "[[loss]]\nuse = \"cross_entropy\"\n[[metric]]\nuse = \"accuracy\"\n"
                     "[train]\nepochs = 2\n[optimizer]\nuse = \"adamw\"\nlr = 1e-2\n")
          .string();
  require_success(run_host({"--config", config}));
  return config;
}

// Unlabelled pictures at several depths. Names in byte order: Z.ppm, a/1.ppm, a/2.PPM, b.ppm.
fs::path make_unlabelled() {
  const fs::path folder = make_empty_folder("unlabelled");
  write_ppm(folder / "b.ppm", kColours.at("road"), 5);
  write_ppm(folder / "a/2.PPM", kColours.at("lake"), 6);
  write_ppm(folder / "a/1.ppm", kColours.at("forest"), 7);
  write_ppm(folder / "Z.ppm", kColours.at("lake"), 8);
  write_file(folder / "notes.txt", "no picture");
  write_file(folder / ".hidden.ppm", "hidden");
  return folder;
}

std::string predict_to(const std::string& name, const std::string& config, const std::vector<std::string>& more) {
  const fs::path file = tenon::test_folder() / name;
  require_success(run_host(joined({"predict", "--config", config, "--output", file.string()}, more)));
  return read_file(file);
}

std::vector<json> parse_lines(const std::string& text) {
  std::vector<json> lines;
  for (const std::string& line : parts_of(text, '\n')) lines.push_back(json::parse(line));
  return lines;
}

std::vector<std::string> names_of(const std::vector<json>& lines) {
  std::vector<std::string> names;
  for (const json& line : lines) names.push_back(line["name"]);
  return names;
}

void check_input_refused(const std::string& config, const std::vector<std::string>& more, int exit_code,
                         const std::string& message) {
  const fs::path file = tenon::test_folder() / "refused.csv";
  check_errors(run_host(joined({"predict", "--config", config, "--output", file.string()}, more)), exit_code,
               {message});
  CHECK_FALSE(fs::exists(file));
}

}  // namespace

TEST_CASE("predict reads unlabelled pictures from a folder, files and a CSV file") {
  const std::string config = train_pictures();
  const fs::path folder = make_unlabelled();
  fs::rename(tenon::test_folder() / "pictures", tenon::test_folder() / "moved");  // the labelled data are not needed

  const std::vector<std::string> rows = parts_of(predict_to("folder.csv", config, {"--input", folder.string()}), '\n');
  REQUIRE(rows.size() == 5);
  CHECK(rows[0] == "index,name,top.1,top.1.probability");
  const std::vector<std::string> expected{"0,Z.ppm,", "1,a/1.ppm,", "2,a/2.PPM,", "3,b.ppm,"};
  for (size_t i = 0; i < expected.size(); ++i) CHECK(rows[i + 1].starts_with(expected[i]));

  // The same pictures give the same classes, in the order as given.
  const std::string lake = (folder / "Z.ppm").string(), road = (folder / "b.ppm").string();
  const std::vector<json> all = parse_lines(predict_to("all.jsonl", config, {"--input", folder.string()}));
  const std::vector<json> files = parse_lines(predict_to("files.jsonl", config, {"--input", road, "--input", lake}));
  CHECK(names_of(files) == std::vector<std::string>{road, lake});
  REQUIRE(all.size() == 4);
  CHECK(files[0]["top"][0]["class"] == all[3]["top"][0]["class"]);
  CHECK(files[1]["top"][0]["class"] == all[0]["top"][0]["class"]);

  const fs::path table = write_file(folder / "list.csv", "number,image\n7,b.ppm\n8,a/1.ppm\n");
  CHECK(names_of(parse_lines(predict_to("rows.jsonl", config, {"--input", table.string()}))) ==
        std::vector<std::string>{"b.ppm", "a/1.ppm"});
  const fs::path first = write_file(folder / "first.csv", "file\nb.ppm\n");
  CHECK(names_of(parse_lines(predict_to("first.jsonl", config, {"--input", first.string()}))) ==
        std::vector<std::string>{"b.ppm"});
}

TEST_CASE("predict --top-k writes the sorted softmax of the scores with the names of classes") {
  const std::string config = train_pictures();
  const fs::path folder = make_unlabelled();
  const std::vector<json> lines =
      parse_lines(predict_to("top.jsonl", config, {"--input", folder.string(), "--top-k", "3"}));
  const std::vector<json> scores =
      parse_lines(predict_to("scores.jsonl", config, {"--input", folder.string(), "--outputs", "logits"}));
  const std::vector<std::string> classes{"forest", "lake", "road"};
  REQUIRE(lines.size() == 4);
  REQUIRE(scores.size() == 4);
  for (size_t row = 0; row < lines.size(); ++row) {
    const auto logits = scores[row]["logits"].get<std::vector<double>>();
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    std::vector<std::pair<double, std::string>> expected;
    for (size_t k = 0; k < 3; ++k) expected.emplace_back(-std::exp(logits[k]) / sum, classes[k]);
    std::sort(expected.begin(), expected.end());
    REQUIRE(lines[row]["top"].size() == 3);
    for (size_t k = 0; k < 3; ++k) {
      CHECK(lines[row]["top"][k]["class"] == expected[k].second);
      CHECK(lines[row]["top"][k]["probability"].get<double>() == doctest::Approx(-expected[k].first).epsilon(1e-5));
    }
    CHECK_FALSE(lines[row].contains("logits"));
  }

  const std::vector<std::string> rows =
      parts_of(predict_to("labelled.csv", config, {"--data", "validation", "--top-k", "2", "--fields", "label"}), '\n');
  REQUIRE(rows.size() == 13);
  CHECK(rows[0] == "index,name,top.1,top.1.probability,top.2,top.2.probability,label,label.name");
  CHECK(rows[1].starts_with("0,forest/0.ppm,"));
  CHECK(rows[12].ends_with(",2,road"));

  predict_to("top.safetensors", config, {"--input", folder.string(), "--top-k", "2"});
  const tenon::artifacts::SafetensorsFile stored(tenon::test_folder() / "top.safetensors");
  const auto* numbers = stored.find("top.class");
  REQUIRE(numbers);
  CHECK(numbers->shape == std::vector<int64_t>{4, 2});
}

TEST_CASE("predict and evaluate in two processes equal one process") {
  const std::string config = train_pictures();
  const fs::path folder = make_unlabelled();
  for (const std::string& name :
       {std::string("data.csv"), std::string("data.jsonl"), std::string("data.safetensors")}) {
    CAPTURE(name);
    const std::vector<std::string> options{"--data", "validation", "--fields", "label"};
    const std::string one = predict_to(name, config, options);
    CHECK(predict_to(name, config, joined(options, {"--processes", "2"})) == one);
  }
  const std::string one = predict_to("one.csv", config, {"--input", folder.string()});
  CHECK(predict_to("three.csv", config, {"--input", folder.string(), "--processes", "3"}) == one);

  // A run of two processes and its evaluation have the same values.
  require_success(run_host({"--config", config, "--processes", "2", "--set", "run.name=two"}));
  const fs::path run = find_run_folder(tenon::test_folder() / "run/runs", "two");
  const Outcome evaluated = require_success(
      run_host({"evaluate", "--config", config, "--processes", "2", "--set", "run.name=two", "--json"}));
  const json metrics = json::parse(evaluated.output)["sets"][0]["metrics"];
  CHECK(metrics["validation/loss"].get<double>() == read_last_metric(run, "validation/loss"));
  CHECK(metrics["validation/accuracy"].get<double>() == read_last_metric(run, "validation/accuracy"));
}

// The pattern of the pictures is not symmetrical.
TEST_CASE("--tta flip gives the mean of the scores of a picture and of its mirror image") {
  const std::string config = train_pictures();
  const auto predict_scores = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::vector<double>> scores;
    for (const json& line :
         parse_lines(predict_to(name, config, joined(more, {"--data", "validation", "--outputs", "logits"}))))
      scores.push_back(line["logits"]);
    REQUIRE(scores.size() == 12);
    return scores;
  };
  const std::vector<std::string> mirror{
      "--set",
      R"toml(data.validation.params.transforms=["resize(8)", "center_crop(8)", "horizontal_flip(1)", "normalize"])toml"};
  const auto plain = predict_scores("plain.jsonl", {});
  const auto mirrored = predict_scores("mirrored.jsonl", mirror);
  const auto mean = predict_scores("mean.jsonl", {"--tta", "flip"});
  double loss = 0;
  for (size_t i = 0; i < mean.size(); ++i) {
    CHECK(plain[i] != mirrored[i]);
    double sum = 0;
    for (size_t c = 0; c < 3; ++c) {
      CHECK(mean[i][c] == doctest::Approx((plain[i][c] + mirrored[i][c]) / 2).epsilon(1e-6));
      sum += std::exp(mean[i][c]);
    }
    loss += std::log(sum) - mean[i][i / 4];  // four pictures of each class, in this order
  }

  const auto evaluate = [&](const std::vector<std::string>& more) {
    return require_success(run_host(joined({"evaluate", "--config", config}, more))).output;
  };
  const json metrics = json::parse(evaluate({"--tta", "flip", "--json"}));
  CHECK(metrics["tta"] == "flip");
  CHECK(metrics["sets"][0]["metrics"]["validation/loss"].get<double>() == doctest::Approx(loss / 12).epsilon(1e-5));
  CHECK(json::parse(evaluate({"--json"}))["tta"].is_null());
  CHECK(contains(evaluate({"--tta", "flip"}), "\nmean of the outputs for each image and its mirror image\n"));
  check_input_refused(config, {"--data", "validation", "--tta", "rotate"}, 2, "--tta is \"rotate\"");
}

TEST_CASE("a damaged picture among the inputs is skipped or reported once") {
  const std::string config = train_pictures();
  const fs::path folder = make_unlabelled();
  write_file(folder / "a/0.png", "not a picture");
  check_input_refused(config, {"--input", folder.string()}, 4, "a/0.png");
  const Outcome in_two = run_host({"predict", "--config", config, "--input", folder.string(), "--processes", "2",
                                   "--output", (tenon::test_folder() / "refused.csv").string()});
  CHECK(in_two.exit_code == 4);
  // The other process reports only that this one has failed.
  const size_t found = in_two.errors.find("error: dataset \"image_folder\"");
  REQUIRE(found != std::string::npos);
  CHECK(in_two.errors.find("error: dataset \"image_folder\"", found + 1) == std::string::npos);
  CHECK_FALSE(contains(in_two.errors, "host data"));  // the run file does not have these files

  const std::vector<json> lines =
      parse_lines(predict_to("skipped.jsonl", config, {"--input", folder.string(), "--set", "data.on_error=\"skip\""}));
  CHECK(names_of(lines) == std::vector<std::string>{"Z.ppm", "a/1.ppm", "a/2.PPM", "b.ppm"});
  CHECK(lines[1]["index"] == 2);
}

TEST_CASE("inputs that cannot be predicted are refused with what to do") {
  const std::string config = train_pictures();
  const fs::path folder = make_unlabelled();
  const fs::path empty = make_empty_folder("empty");
  check_input_refused(config, {"--input", empty.string()}, 4, "holds no image; expected files that end in .jpg");
  check_input_refused(config, {"--input", (empty / "absent").string()}, 4,
                      "does not exist; expected a folder of images");
  check_input_refused(config, {}, 2, "neither --data nor --input is given");
  check_input_refused(config, {"--input", folder.string(), "--top-k", "4"}, 2,
                      "--top-k 4: the output logits is float32 [3, 3]; expected floats [N, C] with C of at least 4");
  check_input_refused(config, {"--input", folder.string(), "--top-k", "1", "--apply", "argmax"}, 2,
                      "expected one output without --apply");
  check_input_refused(TENON_SOURCE_DIR "/configs/digits_mlp.toml", {"--input", folder.string()}, 2,
                      "reads no data without labels");
}

TEST_CASE("the first line of a list without a header is an image") {
  const std::string config = train_pictures();
  const fs::path folder = make_unlabelled();
  const auto list = [&](const std::string& text) { return write_file(folder / "list.csv", text).string(); };
  CHECK(names_of(parse_lines(predict_to("rows.jsonl", config, {"--input", list("b.ppm\na/1.ppm\n")}))) ==
        std::vector<std::string>{"b.ppm", "a/1.ppm"});
  CHECK(names_of(parse_lines(predict_to("named.jsonl", config, {"--input", list("file,x.1\nb.ppm,7\n")}))) ==
        std::vector<std::string>{"b.ppm"});
  check_input_refused(config, {"--input", list("b.ppm \na/1.ppm\n")}, 4,
                      "1 of its 2 files does not exist: " + (folder / "b.ppm ").string());
  check_input_refused(config, {"--input", list("b.ppm \na/1.ppm\n")}, 4, "the path ends with a blank: remove it");
  check_input_refused(config, {"--input", list("x.heic\na/1.ppm\n")}, 4, "1 of its 2 files does not exist");
  check_input_refused(config, {"--input", list("a/absent\na/1.ppm\n")}, 4, "1 of its 2 files does not exist");
  check_input_refused(config, {"--input", list("b.ppm;lake\na/1.ppm;lake\n")}, 4, "2 of its 2 files do not exist");
}

TEST_CASE("predict follows linked folders and files of its input folder") {
  const std::string config = train_pictures();
  const fs::path folder = make_unlabelled(), store = make_empty_folder("store"), linked = make_empty_folder("linked");
  fs::rename(folder / "a", store / "a");
  fs::create_directory_symlink("../store/a", folder / "deep");
  fs::create_directory_symlink(folder, store / "a" / "back");  // a cycle, which is not followed
  fs::create_symlink(folder / "b.ppm", folder / "c.ppm");
  fs::create_directory_symlink(folder, linked / "input");
  for (const fs::path& input : {folder, linked / "input"})
    CHECK(names_of(parse_lines(predict_to("links.jsonl", config, {"--input", input.string()}))) ==
          std::vector<std::string>{"Z.ppm", "b.ppm", "c.ppm", "deep/1.ppm", "deep/2.PPM"});
}
