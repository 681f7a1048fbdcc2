// The detector of examples/detector: what it reaches, and that its loss is a sum over the objects of a step, however
// these are split into batches and processes.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;

namespace {

const std::string kRunFile = TENON_SOURCE_DIR "/examples/detector/detector.toml";

// Trains in a new output folder and returns the run folder.
std::filesystem::path train(const std::string& output, const std::vector<std::string>& more) {
  const std::filesystem::path folder = make_empty_folder(output);
  require_success(run_host(joined({"--config", kRunFile, "--plugin-dir", TENON_DETECTOR, "--set", "run.name=\"shapes\"",
                                   "--set", "run.output_dir=\"" + folder.string() + "\""},
                                  more)));
  return find_run_folder(folder, "shapes");
}

nlohmann::json evaluate(const std::filesystem::path& run, const std::string& batch_size) {
  const Outcome outcome = require_success(
      run_host({"evaluate", "--json", "--config", (run / "plan.toml").string(), "--checkpoint", run.string(),
                "--plugin-dir", TENON_DETECTOR, "--set", "data.validation_batch_size=" + batch_size}));
  return nlohmann::json::parse(outcome.output)["sets"][0]["metrics"];
}

// The loss of each step.
std::vector<double> read_losses(const std::filesystem::path& run) {
  std::vector<double> losses;
  std::istringstream history(read_file(run / "history.jsonl"));
  for (std::string line; std::getline(history, line);)
    if (const auto parsed = nlohmann::json::parse(line); parsed["event"] == "step")
      losses.push_back(parsed["train/loss"].get<double>());
  return losses;
}

}  // namespace

TEST_CASE("the detector finds drawn shapes, and its validation does not depend on the batch size") {
  const std::filesystem::path run = train("trained", {});
  CHECK(read_last_metric(run, "validation/ap50") >= 0.9);
  const nlohmann::json whole = evaluate(run, "100");
  for (const char* size : {"1", "7"}) {
    const nlohmann::json other = evaluate(run, size);
    // Convolutions of other batches round differently in float32, and so do the sums of the losses. A score that rounds
    // differently can move a detection: one of about 330 per class.
    CHECK(other["validation/loss"].get<double>() == doctest::Approx(whole["validation/loss"]).epsilon(1e-5));
    CHECK(other["validation/ap50"].get<double>() == doctest::Approx(whole["validation/ap50"]).epsilon(1e-2));
  }
}

TEST_CASE("the sum over the objects of a step does not depend on the number of processes and batches") {
  const std::vector<std::string> few = {
      "--set", "train.steps=4", "--set", "log.every=\"1 step\"", "--set", "distributed.synchronize_batch_norm=true"};
  const std::vector<double> one = read_losses(train("one", few));
  const std::vector<double> two =
      read_losses(train("two", joined(few, {"--processes", "2", "--set", "data.batch_size=16"})));
  REQUIRE(one.size() == 4);
  REQUIRE(two.size() == 4);
  // The processes have different numbers of objects: the mean of their means would differ in the second digit.
  for (size_t i = 0; i < 4; ++i) CHECK(two[i] == doctest::Approx(one[i]).epsilon(1e-5));
}

TEST_CASE("predictions and pages have the results of the model, of any batch and process") {
  const std::filesystem::path run = train("found", {"--set", "train.epochs=1", "--set", "log.samples=50"});
  const std::vector<std::string> arguments = {
      "predict",      "--data",     "validation",   "--config",    (run / "plan.toml").string(),
      "--checkpoint", run.string(), "--plugin-dir", TENON_DETECTOR};
  const auto predict = [&](const std::string& name, const std::vector<std::string>& more) {
    require_success(run_host(joined(joined(arguments, {"--output", (run / name).string()}), more)));
    return read_file(run / name);
  };
  const std::string lines = predict("found.jsonl", {"--fields", "boxes", "--page", (run / "page.html").string()});
  CHECK(lines == predict("in_two.jsonl", {"--fields", "boxes", "--processes", "2"}));
  const auto first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  CHECK(first.size() == 5);
  CHECK(first["found_boxes"].size() == first["scores"].size());
  CHECK(first["found_boxes"].size() == first["found_classes"].size());
  size_t found = 0;
  std::istringstream rows(lines);
  for (std::string line; std::getline(rows, line);) {
    const auto parsed = nlohmann::json::parse(line);
    for (const auto& score : parsed["scores"]) CHECK(score.get<double>() >= 0.1);
    found += parsed["scores"].size();
  }
  CHECK(found > 500);
  CHECK(read_file(run / "page.html").find("predicted in image") != std::string::npos);
  CHECK(read_file(run / "report.html").find("predicted in image") != std::string::npos);
  CHECK(predict("heat.jsonl", {"--outputs", "heat"}).find("found_boxes") == std::string::npos);
}

TEST_CASE("padding is left out of predictions, and mirroring that would leave boxes behind is refused") {
  const std::filesystem::path run =
      train("predicted", {"--set", "train.steps=2", "--set", "data.validation.params.samples=40"});
  const std::vector<std::string> arguments = {
      "predict",      "--data",     "validation",   "--config",     (run / "plan.toml").string(),
      "--checkpoint", run.string(), "--plugin-dir", TENON_DETECTOR, "--outputs",
      "none",         "--fields",   "boxes,classes"};
  const auto predict = [&](const std::string& name, const std::vector<std::string>& more) {
    const std::filesystem::path file = run / name;
    require_success(run_host(joined(joined(arguments, {"--output", file.string()}), more)));
    return read_file(file);
  };
  const std::string lines = predict("boxes.jsonl", {});
  CHECK(lines == predict("in_two.jsonl", {"--processes", "2"}));
  CHECK(lines == predict("alone.jsonl", {"--set", "data.validation_batch_size=1"}));
  CHECK(lines.find("-1") == std::string::npos);  // the padding of classes
  const std::string table = predict("boxes.csv", {});
  CHECK(table.starts_with("index,boxes,classes\n"));

  std::istringstream rows(lines);
  bool has_empty = false;
  size_t objects = 0;
  for (std::string line; std::getline(rows, line);) {
    const auto parsed = nlohmann::json::parse(line);
    CHECK(parsed["boxes"].size() == parsed["classes"].size());
    has_empty = has_empty || parsed["boxes"].empty();
    objects += parsed["boxes"].size();
  }
  CHECK(has_empty);
  const std::string second = table.substr(table.find('\n') + 1);
  CHECK(second.starts_with("0,\"[["));

  predict("boxes.safetensors", {});
  const tenon::artifacts::SafetensorsFile file(run / "boxes.safetensors");
  REQUIRE(file.find("boxes.values"));
  CHECK(file.find("boxes.values")->shape == std::vector<int64_t>{static_cast<int64_t>(objects), 4});
  CHECK(file.find("classes.values")->shape == std::vector<int64_t>{static_cast<int64_t>(objects)});
  CHECK(file.find("classes.offsets")->shape == std::vector<int64_t>{41});
  CHECK(file.find("index")->shape == std::vector<int64_t>{40});
  CHECK(file.find("boxes.shapes") == nullptr);

  check_errors(run_host(joined(arguments, {"--tta", "flip", "--output", (run / "mirrored.jsonl").string()})), 2,
               {"is for data with boxes in the images: the field boxes", "remove --tta"});
}
