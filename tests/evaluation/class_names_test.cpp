// Tests the names of classes: data with some of the classes, in another order, or with unknown ones.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/support/diagnostics/error.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

constexpr const char* kAnt = "ant";
constexpr const char* kBee = "b\xC3\xA9\x65";  // bée
constexpr const char* kCat = "cat \"x\"";
constexpr int kImages = 8;  // of each class

// A square of one colour with a pattern that depends on the number.
void write_image(const fs::path& path, int red, int green, int blue, int number) {
  std::string text = "P6\n8 8\n255\n";
  for (int pixel = 0; pixel < 64; ++pixel) {
    const int noise = (pixel * 7 + number * 13) % 40;
    for (const int value : {red, green, blue}) text += static_cast<char>(value + noise);
  }
  write_file(path, text);
}

void write_class(const fs::path& root, const std::string& name, int red, int green, int blue) {
  for (int i = 0; i < kImages; ++i) write_image(root / name / (std::to_string(i) + ".ppm"), red, green, blue, i);
}

// Writes a folder with these classes. The images of a class are the same in every folder.
fs::path make_folder(const std::string& name, const std::vector<std::string>& classes) {
  const fs::path root = make_empty_folder(name);
  for (const std::string& one : classes) {
    if (one == kAnt) write_class(root, one, 200, 30, 30);
    if (one == kBee) write_class(root, one, 30, 200, 30);
    if (one == kCat) write_class(root, one, 30, 30, 200);
    if (one == "dog") write_class(root, one, 200, 200, 30);
  }
  return root;
}

std::string to_text(const fs::path& path) { return "\"" + path.string() + "\""; }

std::string write_run_file(const fs::path& folder, const fs::path& train, const fs::path& validation,
                           const std::string& more = "") {
  const auto dataset = [](const std::string& name, const fs::path& path) {
    return "[data." + name + "]\nuse = \"image_folder\"\nparams = { path = " + to_text(path) +
           ", transforms = [\"resize(8)\", \"center_crop(8)\", \"normalize()\"] }\n";
  };
  return write_file(folder / "classes.toml",
                    "[run]\noutput_dir = " + to_text(folder / "runs") +
                        "\n[model]\nuse = \"small_cnn\"\nparams = { channels = 3, classes = 3 }\n"
                        "[data]\nbatch_size = 8\nworkers = 0\n" +
                        dataset("train", train) + dataset("validation", validation) +
                        "[[loss]]\nuse = \"cross_entropy\"\n[[metric]]\nuse = \"accuracy\"\n"
                        "[train]\nepochs = 6\n[optimizer]\nuse = \"adamw\"\nlr = 3e-3\n" +
                        more)
      .string();
}

// A run on three classes, trained once for all tests.
struct TrainedRun {
  TrainedRun() : full(make_folder("full", {kAnt, kBee, kCat})), folder(make_empty_folder("trained")) {
    config = write_run_file(folder, full, full);
    require_success(run_host({"--config", config}));
    run = find_run_folder(folder / "runs", "classes");
    checkpoint = fs::canonical(run / "checkpoints/latest");
  }

  // Runs a command on the trained run with another validation folder.
  Outcome command(const std::vector<std::string>& arguments, const fs::path& validation) const {
    return run_host(
        joined(arguments, {"--config", config, "--set", "data.validation.params.path=" + to_text(validation)}));
  }

  fs::path full, folder, run, checkpoint;
  std::string config;
};

const TrainedRun& trained() {
  static const TrainedRun run;
  return run;
}

double evaluate(const fs::path& validation) {
  return nlohmann::json::parse(require_success(trained().command({"evaluate", "--json"}, validation))
                                   .output)["sets"][0]["metrics"]["validation/accuracy"]
      .get<double>();
}

// Returns the lines of the predictions without the sample's number and name.
std::vector<std::string> predict(const fs::path& validation, const std::vector<std::string>& more = {}) {
  const fs::path file = make_empty_folder("predicted") / "all.csv";
  require_success(trained().command(
      joined({"predict", "--data", "validation", "--fields", "label", "--output", file.string()}, more), validation));
  std::vector<std::string> lines;
  for (const std::string& line : parts_of(read_file(file), '\n'))
    lines.push_back(line.substr(line.find(',', line.find(',') + 1) + 1));
  return lines;
}

const std::string kThree = "3 classes (\"ant\", \"b\xC3\xA9\x65\", \"cat \\\"x\\\"\")";
const std::string kFour = "4 classes (\"ant\", \"b\xC3\xA9\x65\", \"cat \\\"x\\\"\", \"dog\")";

// What read_class_names.py prints for a file.
std::string read_in_python(const fs::path& file) {
  const fs::path out = make_empty_folder("python") / "names.json";
  const std::string command = "python3 '" TENON_SOURCE_DIR "/tests/evaluation/read_class_names.py' '" + file.string() +
                              "' >'" + out.string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  return read_file(out);
}

constexpr const char* kNamesInPython = "{\"label\": [\"ant\", \"b\\u00e9e\", \"cat \\\"x\\\"\"]}\n";

}  // namespace

TEST_CASE("the same weights give the same predictions for a folder that lacks a class") {
  const std::vector<std::string> full = predict(trained().full);
  REQUIRE(full.size() == 1 + 3 * kImages);
  CHECK(evaluate(trained().full) == 1);
  // Without its first class, the folder numbers the others anew.
  const fs::path rest = make_folder("rest", {kBee, kCat});
  CHECK(predict(rest) == [&] {
    std::vector<std::string> expected{full.front()};
    expected.insert(expected.end(), full.begin() + 1 + kImages, full.end());
    return expected;
  }());
  CHECK(evaluate(rest) == 1);
  CHECK(evaluate(make_folder("last", {kCat})) == 1);
  const Outcome outcome = trained().command({"evaluate"}, rest);
  CHECK(contains(outcome.errors, "has 2 of the 3 classes of " + trained().checkpoint.string()));
  CHECK(contains(outcome.errors, "without \"ant\"; they are numbered by name"));
}

TEST_CASE("data with a class that the weights do not know are refused with both lists") {
  const fs::path more = make_folder("more", {kAnt, kBee, kCat, "dog"});
  const std::vector<std::string> texts{
      "the label of validation has " + kFour + "; expected only classes of " + trained().checkpoint.string(),
      "which has " + kThree + ": \"dog\" is not among them"};
  check_errors(trained().command({"evaluate"}, more), 4, texts);
  check_errors(trained().command({"predict", "--data", "validation", "--output", "refused.csv"}, more), 4, texts);
  CHECK_FALSE(fs::exists(tenon::test_folder() / "refused.csv"));
}

TEST_CASE("weights without names are numbered as the data, which is reported unless the run file names the classes") {
  const fs::path file = make_empty_folder("unnamed") / "weights.safetensors";
  const tenon::artifacts::SafetensorsFile named(trained().checkpoint / "model.safetensors");
  tenon::artifacts::write_safetensors(file, named.tensors(), {{"format", "pt"}},
                                      tenon::support::ErrorKind::configuration);
  const std::string warning =
      "warning: " + file.string() +
      ": has no names for the classes of label, so they are numbered as the data number them: " + kThree +
      "; set data.class_names.label to the order that the weights were trained with";
  const std::vector<std::string> arguments{"evaluate", "--checkpoint", file.string()};
  check_errors(trained().command(arguments, trained().full), 0, {warning});
  const std::string names = "data.class_names={label=[\"ant\",\"b\xC3\xA9\x65\",'cat \"x\"']}";
  for (const std::vector<std::string>& named : {joined(arguments, {"--set", names}), {"evaluate"}})
    CHECK_FALSE(contains(trained().command(named, trained().full).errors, "has no names"));
}

TEST_CASE("predictions name the classes") {
  CHECK(predict(trained().full).front() == "logits.ant,logits.b\xC3\xA9\x65,\"logits.cat \"\"x\"\"\",label,label.name");
  const std::vector<std::string> rows = predict(make_folder("named", {kBee, kCat}), {"--apply", "argmax"});
  CHECK(rows.front() == "logits.argmax,logits.argmax.name,label,label.name");
  CHECK(rows[1] == "1,b\xC3\xA9\x65,1,b\xC3\xA9\x65");
  CHECK(rows.back() == "2,\"cat \"\"x\"\"\",2,\"cat \"\"x\"\"\"");
}

TEST_CASE("a packed dataset keeps the names and gives the same predictions") {
  const fs::path folder = make_empty_folder("packed");
  const fs::path rest = make_folder("to_pack", {kCat, kBee});
  require_success(trained().command({"pack", "--data", "validation", "--output", (folder / "shards").string()}, rest));
  const fs::path file = folder / "all.csv";
  const std::string dataset =
      "data.validation={use=\"tar_shards\",params={path=" + to_text(folder / "shards") + ",transforms=[]}}";
  require_success(run_host({"predict", "--config", trained().config, "--set", dataset, "--data", "validation",
                            "--fields", "label", "--output", file.string()}));
  std::vector<std::string> lines;
  for (const std::string& line : parts_of(read_file(file), '\n')) lines.push_back(line.substr(line.find(',') + 1));
  CHECK(lines == predict(rest));
}

TEST_CASE("the report and host data name the classes") {
  const std::string page = read_file(trained().run / "report.html");
  const auto shows = [&](const std::string& named) {
    return contains(page, "<br>label: " + named + "<br>predicted label: " + named);
  };
  const bool has_names = shows("0 (ant)") || shows("1 (b\xC3\xA9\x65)") || shows("2 (cat &quot;x&quot;)");
  CHECK(has_names);
  CHECK(contains(page, ">b\xC3\xA9\x65</text>"));
  CHECK(contains(page, "<title>class cat &quot;x&quot; as cat &quot;x&quot;: 8 of 8</title>"));
  const fs::path sheet = make_empty_folder("sheet") / "samples.html";
  const Outcome outcome = require_success(
      trained().command({"data", "--seconds", "0", "--sheet", sheet.string(), "--data", "validation"}, trained().full));
  CHECK(contains(outcome.output, "\n  label: " + kThree + "\n"));
  CHECK(contains(read_file(sheet), "<br>label: 0 (ant)</figcaption>"));
  const Outcome json = trained().command({"data", "--seconds", "0", "--json"}, trained().full);
  CHECK(nlohmann::json::parse(json.output)["class_names"]["label"] == std::vector<std::string>{kAnt, kBee, kCat});
}

TEST_CASE("confusions are reported with the names of classes") {
  // The images of two classes that look alike.
  const fs::path root = make_empty_folder("alike");
  write_class(root, "left", 90, 90, 90);
  write_class(root, "right", 90, 90, 90);
  const fs::path folder = make_empty_folder("confused");
  require_success(run_host({"--config", write_run_file(folder, root, root), "--set", "train.epochs=1"}));
  // small_cnn has three outputs here, so the two names do not name all of them.
  const std::string three = read_file(find_run_folder(folder / "runs", "classes") / "report.html");
  CHECK(contains(three, " misclassified; most confused: "));
  require_success(run_host({"--config", (folder / "classes.toml").string(), "--set", "train.epochs=1", "--set",
                            "model.params.classes=2", "--set", "run.name=two"}));
  const std::string page = read_file(find_run_folder(folder / "runs", "two") / "report.html");
  const bool is_named = contains(page, "most confused: left → right (8 times)") ||
                        contains(page, "most confused: right → left (8 times)");
  CHECK(is_named);
}

TEST_CASE("training is refused if the validation data have a class that the training data lack") {
  const fs::path folder = make_empty_folder("refused");
  const fs::path other = make_folder("other", {kAnt, "dog"});
  const std::string config = write_run_file(folder, trained().full, other);
  check_errors(run_host({"--config", config}), 4,
               {"the label of validation has 2 classes (\"ant\", \"dog\"); expected only classes of the training data, "
                "which has " +
                kThree +
                ": \"dog\" is not among them; remove or rename these classes of the data, or add them to "
                "the training data"});
  CHECK_FALSE(fs::exists(folder / "runs"));
}

TEST_CASE("test data are numbered by name as the training data, and a class that those lack is refused") {
  const fs::path folder = make_empty_folder("tested");
  const auto run_with = [&](const fs::path& test) {
    return run_host({"--config", write_run_file(folder, trained().full, trained().full), "--set",
                     "data.test={like=\"train\",params={path=" + to_text(test) + "}}"});
  };
  const Outcome outcome = require_success(run_with(make_folder("tested_two", {kBee, kCat})));
  CHECK(read_last_metric(find_run_folder(folder / "runs", "classes"), "test/accuracy") == 1);
  CHECK(contains(outcome.errors, "the label of test has 2 of the 3 classes of the training data, without \"ant\""));
  check_errors(run_with(make_folder("tested_other", {kAnt, "dog"})), 4,
               {"the label of test has 2 classes (\"ant\", \"dog\"); expected only classes of the training data"});
}

TEST_CASE("validation data with some of the classes are numbered as the training data") {
  const fs::path folder = make_empty_folder("some");
  const Outcome outcome =
      require_success(run_host({"--config", write_run_file(folder, trained().full, make_folder("two", {kBee, kCat}))}));
  CHECK(read_last_metric(find_run_folder(folder / "runs", "classes"), "validation/accuracy") == 1);
  CHECK(contains(outcome.errors, "has 2 of the 3 classes of the training data, without \"ant\""));
}

TEST_CASE("a run resumes only with classes that its checkpoint knows") {
  const fs::path more = make_folder("resumed", {kAnt, kBee, kCat, "dog"});
  const std::vector<std::string> arguments{"--config", trained().config, "--resume", trained().checkpoint.string(),
                                           "--set",    "train.epochs=7"};
  const auto with = [&](const fs::path& path) {
    std::vector<std::string> all = arguments;
    for (const char* name : {"train", "validation"})
      all.insert(all.end(), {"--set", "data." + std::string(name) + ".params.path=" + to_text(path)});
    return all;
  };
  check_errors(run_host(with(more)), 4,
               {"the label of train has " + kFour + "; expected only classes of " + trained().checkpoint.string(),
                "which has " + kThree});
}

TEST_CASE("the plan names the classes, and is a run file that keeps their numbers") {
  const std::string plan = read_file(trained().run / "plan.toml");
  CHECK(contains(plan, "\n[data.class_names]\nlabel = [\"ant\", \"b\xC3\xA9\x65\", \"cat \\\"x\\\"\"]\n"));
  const fs::path file = write_file(make_empty_folder("again") / "plan.toml", plan);
  const Outcome again =
      require_success(run_host({"--config", file.string(), "--check", "--set",
                                "data.train.params.path=" + to_text(make_folder("fewer", {kCat, kBee})), "--set",
                                "data.validation.params.path=" + to_text(trained().full)}));
  CHECK(contains(again.output, "label = [\"ant\", \"b\xC3\xA9\x65\", \"cat \\\"x\\\"\"]"));
}

TEST_CASE("class_names of a run file number the classes in their order") {
  const fs::path folder = make_empty_folder("ordered");
  const std::string config =
      write_run_file(folder, trained().full, trained().full,
                     "[data.class_names]\nlabel = [\"cat \\\"x\\\"\", \"b\xC3\xA9\x65\", \"ant\"]\n");
  require_success(run_host({"--config", config}));
  const fs::path file = folder / "all.csv";
  REQUIRE(run_host({"predict", "--config", config, "--data", "validation", "--fields", "label", "--outputs", "none",
                    "--output", file.string()})
              .exit_code == 0);
  CHECK(contains(read_file(file), "\n0,ant/0.ppm,2"));  // the first image is an ant

  // Weights that number their classes otherwise.
  check_errors(run_host({"--config", config, "--set", "run.name=started", "--set", "train.epochs=1", "--set",
                         "model.weights=" + to_text(trained().checkpoint / "model.safetensors")}),
               0, {"model.safetensors: numbers the classes of label in another order, " + kThree});
  check_errors(run_host({"evaluate", "--config", config, "--checkpoint", trained().checkpoint.string()}), 2,
               {"data.class_names.label has 3 classes (\"cat \\\"x\\\"\", \"b\xC3\xA9\x65\", \"ant\"); expected those "
                "of " +
                    trained().checkpoint.string(),
                kThree, "remove the key"});
  check_errors(run_host({"--config", config, "--set", "data.class_names={lable=[\"a\",\"b\"]}"}), 2,
               {"data.class_names names the classes of the field lable", "did you mean \"label\"?"});
}

TEST_CASE("checkpoints and exported models name the classes, as Python reads them") {
  CHECK(read_in_python(trained().checkpoint / "model.safetensors") == kNamesInPython);
  CHECK(read_in_python(trained().checkpoint / "manifest.json") == kNamesInPython);
  const fs::path folder = make_empty_folder("exported");
  for (const char* name : {"a.safetensors", "a.pt"}) {
    require_success(trained().command({"export", "--output", (folder / name).string()}, trained().full));
    CHECK(read_in_python(folder / name) == kNamesInPython);
  }
  CHECK(tenon::artifacts::read_class_names(folder / "a.safetensors") ==
        tenon::config::ClassNames{{"label", {kAnt, kBee, kCat}}});
  // Exported weights number the data in the same way.
  const fs::path rest = make_folder("rest_of_export", {kBee, kCat});
  const std::vector<std::string> expected = predict(rest);
  CHECK(predict(rest, {"--checkpoint", (folder / "a.safetensors").string()}) == expected);
}
