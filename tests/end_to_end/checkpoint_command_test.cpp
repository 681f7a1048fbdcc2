// Tests host checkpoint show, verify and diff with checkpoints written by CheckpointStore.
#include <doctest/doctest.h>

#include <tenon/abi.h>

#include <nlohmann/json.hpp>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
using tenon::artifacts::TensorView;
namespace fs = std::filesystem;

namespace {

// The tensors of a small model.
struct Example {
  std::vector<float> weight{1, 2, 3, 4, 5, 6};
  std::vector<int64_t> count{7};

  std::vector<TensorView> views() const {
    return {{"fc.weight", TENON_FLOAT32, {2, 3}, reinterpret_cast<const std::byte*>(weight.data()), 24},
            {"fc.count", TENON_INT64, {}, reinterpret_cast<const std::byte*>(count.data()), 8}};
  }
};

// Creates a run folder with a checkpoint of each step. The first weight is the step.
fs::path make_run(const std::string& name, const std::vector<int64_t>& steps) {
  const fs::path run = make_empty_folder(name);
  fs::create_directories(run / "checkpoints");
  tenon::artifacts::CheckpointStore store(run / "checkpoints", {100});
  for (const int64_t step : steps) {
    Example example;
    example.weight[0] = static_cast<float>(step);
    const std::vector<TensorView> views = example.views();
    store.write({.epoch = 1, .step = step, .metrics = {{"train/loss", 0.25}}, .model = views});
  }
  return run;
}

fs::path checkpoint_of(const fs::path& run, int64_t step) {
  return run / "checkpoints" / ("step-0000000" + std::to_string(step));
}

void flip_last_bit(const fs::path& file) {
  std::string bytes = read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(file, bytes);
}

fs::path write_tensors(const std::string& name, const std::vector<TensorView>& views) {
  const fs::path file = tenon::test_folder() / name;
  tenon::artifacts::write_safetensors(file, views, {{"format", "pt"}}, tenon::support::ErrorKind::checkpoint);
  return file;
}

Outcome checkpoint(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "checkpoint");
  return run_host(arguments);
}

nlohmann::json checkpoint_json(std::vector<std::string> arguments, int exit_code) {
  arguments.push_back("--json");
  const Outcome outcome = checkpoint(arguments);
  CAPTURE(outcome.errors);
  REQUIRE(outcome.exit_code == exit_code);
  return nlohmann::json::parse(outcome.output);
}

}  // namespace

TEST_CASE("host checkpoint show prints the manifest and every tensor") {
  const fs::path run = make_run("shown", {3, 5});
  const fs::path newest = fs::canonical(checkpoint_of(run, 5));
  const Outcome text = require_success(checkpoint({"show", run.string()}));
  CHECK(text.output.find("checkpoint " + newest.string() + " (epoch 1, step 5)\n") == 0);
  for (const char* line : {"\n  step               5\n", "\n  train/loss         0.25\n", "\n  model.safetensors  0.",
                           "\nmodel.safetensors: 2 tensors, 7 values, 0.0 KiB\n  format = pt\n",
                           "\n  fc.weight  float32  [2, 3]     24\n  fc.count   int64    []          8\n"})
    CHECK_MESSAGE(contains(text.output, line), line);

  const nlohmann::json json = checkpoint_json({"show", checkpoint_of(run, 3).string()}, 0);
  CHECK(json["manifest"]["step"] == 3);
  CHECK(json["manifest"]["metrics"]["train/loss"] == 0.25);
  const nlohmann::json& file = json["files"].at(0);
  CHECK(file["name"] == "model.safetensors");
  CHECK(file["metadata"] == nlohmann::json{{"format", "pt"}});
  CHECK(file["tensors"].at(0) ==
        nlohmann::json{{"name", "fc.weight"}, {"dtype", "float32"}, {"shape", {2, 3}}, {"bytes", 24}});
}

TEST_CASE("host checkpoint show accepts a single file and shows the readable parts of a damaged checkpoint") {
  const fs::path run = make_run("shown_damaged", {3});
  flip_last_bit(checkpoint_of(run, 3) / "model.safetensors");
  const nlohmann::json damaged = checkpoint_json({"show", run.string()}, 0);
  CHECK(damaged["manifest"]["step"] == 3);
  const nlohmann::json alone = checkpoint_json({"show", (checkpoint_of(run, 3) / "model.safetensors").string()}, 0);
  CHECK(alone["manifest"].is_null());
  CHECK(alone["files"] == damaged["files"]);
  check_errors(checkpoint({"show", "nowhere"}), 5,
               {"nowhere: does not exist; expected the folder of a checkpoint or of a run"});
}

TEST_CASE("host checkpoint verify accepts an intact checkpoint") {
  const fs::path run = make_run("verified", {3, 5});
  const nlohmann::json one = checkpoint_json({"verify", checkpoint_of(run, 3).string()}, 0);
  REQUIRE(one["verified"].size() == 1);
  CHECK(one["verified"][0]["whole"] == true);
  CHECK(one["verified"][0]["files"][0]["name"] == "model.safetensors");
  const nlohmann::json all = checkpoint_json({"verify", run.string()}, 0);
  REQUIRE(all["verified"].size() == 2);
  CHECK(all["verified"][0]["step"] == 5);
  CHECK(all["verified"][1]["step"] == 3);
  const fs::path alone = write_tensors("alone.safetensors", Example().views());
  const Outcome file = require_success(checkpoint({"verify", alone.string()}));
  CHECK(contains(file.output, "readable; a single file has no digest to compare with"));
}

TEST_CASE("host checkpoint verify names the damaged file and the newest other intact checkpoint") {
  const fs::path run = make_run("verified_damaged", {3, 5, 7, 9});
  const fs::path weights = checkpoint_of(run, 9) / "model.safetensors";
  flip_last_bit(weights);
  flip_last_bit(checkpoint_of(run, 7) / "manifest.json");
  for (const fs::path& path : {checkpoint_of(run, 9), weights}) {
    const Outcome outcome = checkpoint({"verify", path.string()});
    check_errors(
        outcome, 5,
        {weights.string() + ": its XXH128 is ", "newest other intact checkpoint of the run: ", "step-00000005"});
    CHECK(contains(outcome.output, "model.safetensors  0.2 KiB  DAMAGED: its XXH128 is "));
  }
  const nlohmann::json all = checkpoint_json({"verify", run.string()}, 5)["verified"];
  REQUIRE(all.size() == 4);
  const bool whole[] = {false, false, true, true};
  for (size_t i = 0; i < 4; ++i) CHECK(all[i]["whole"] == whole[i]);
  CHECK(contains(all[1]["damage"].get<std::string>(), "manifest.json: its XXH128 is "));
  CHECK(all[0]["fallback"] == all[2]["path"]);
  CHECK(all[0]["files"][0]["whole"] == false);
}

TEST_CASE(
    "host checkpoint verify reports when no other checkpoint is intact, when the link is broken, and for a single "
    "file") {
  const fs::path run = make_run("verified_alone", {3});
  fs::remove(run / "checkpoints/latest");
  require_success(checkpoint({"verify", run.string()}));  // a copy may have no links
  fs::create_symlink("step-00000009", run / "checkpoints/latest");
  CHECK(contains(checkpoint({"verify", run.string()}).errors, "latest: is a broken link"));
  fs::remove(checkpoint_of(run, 3) / "model.safetensors");
  check_errors(checkpoint({"verify", checkpoint_of(run, 3).string()}), 5,
               {"model.safetensors: is missing", "no other checkpoint of the run is intact"});
  const fs::path alone = write_tensors("cut.safetensors", Example().views());
  fs::resize_file(alone, fs::file_size(alone) - 1);
  const Outcome cut = checkpoint({"verify", alone.string()});
  check_errors(cut, 5, {"cut.safetensors: "});
  CHECK_FALSE(contains(cut.errors, "checkpoint"));
}

TEST_CASE("host checkpoint diff shows by how much tensors differ") {
  const fs::path run = make_run("compared", {3, 5});
  const std::string three = checkpoint_of(run, 3).string(), five = checkpoint_of(run, 5).string();
  const nlohmann::json json = checkpoint_json({"diff", three, five}, 9);
  CHECK(json["same"] == false);
  const nlohmann::json& file = json["files"].at(0);
  CHECK(file["equal"] == 1);
  const nlohmann::json& different = file["different"].at(0);
  CHECK(different["name"] == "fc.weight");
  const nlohmann::json& difference = different["difference"];
  CHECK(difference["elements"] == 6);
  CHECK(difference["differing"] == 1);
  CHECK(difference["max_absolute"] == 2);
  CHECK(difference["max_relative"] == 0.4);
  CHECK(difference["max_ulps"] == 6291456);  // between 3 (0x40400000) and 5 (0x40A00000)

  const Outcome text = checkpoint({"diff", three, five});
  CHECK(text.exit_code == 9);
  CHECK(contains(text.output, "model.safetensors: 1 tensors are equal, 1 differ, 0 only in A, 0 only in B\n"));
  CHECK(contains(text.output, "fc.weight  float32 [2, 3]  1 of 6        2      0.4  6,291,456\n"));
  for (const std::string& other : {three, three + "/model.safetensors"})
    CHECK(checkpoint({"diff", three, other}).exit_code == 0);
}

TEST_CASE("host checkpoint diff lists tensors of only one side and different shapes and dtypes") {
  const Example example;
  const auto bytes = reinterpret_cast<const std::byte*>(example.weight.data());
  const fs::path a = write_tensors("a.safetensors", {{"same", TENON_FLOAT32, {2}, bytes, 8},
                                                     {"shape", TENON_FLOAT32, {2, 3}, bytes, 24},
                                                     {"gone", TENON_FLOAT32, {1}, bytes, 4},
                                                     {"dtype", TENON_INT32, {0}, bytes, 0}});
  const fs::path b = write_tensors("b.safetensors", {{"new", TENON_FLOAT32, {1}, bytes, 4},
                                                     {"shape", TENON_FLOAT32, {6}, bytes, 24},
                                                     {"dtype", TENON_FLOAT32, {0}, bytes, 0},
                                                     {"same", TENON_FLOAT32, {2}, bytes, 8}});
  const Outcome text = checkpoint({"diff", a.string(), b.string()});
  CHECK(text.exit_code == 9);
  for (const char* part :
       {"a.safetensors: 1 tensors are equal, 2 differ, 1 only in A, 1 only in B", "float32 [2, 3] and float32 [6]",
        "only in A: float32 [1]", "only in B: float32 [1]", "int32 [0] and float32 [0]"})
    CHECK_MESSAGE(contains(text.output, part), part);
  const nlohmann::json json = checkpoint_json({"diff", a.string(), b.string()}, 9);
  const nlohmann::json& different = json["files"].at(0)["different"];
  REQUIRE(different.size() == 4);
  CHECK(different[0]["difference"].is_null());
  CHECK(different[1]["b"].is_null());
  CHECK(different[3]["a"].is_null());
  CHECK(checkpoint({"diff", a.string(), "nowhere"}).exit_code == 5);
}

TEST_CASE("wrong arguments of host checkpoint are refused with the expected ones") {
  const auto refused = [](std::vector<std::string> arguments, const std::string& message) {
    check_errors(checkpoint(std::move(arguments)), 2, {message});
  };
  refused({}, "checkpoint has no command; expected host checkpoint show PATH");
  refused({"shwo", "a"}, "checkpoint shwo is not a command; did you mean \"show\"?");
  refused({"show"}, "checkpoint show has no path");
  refused({"diff", "a"}, "checkpoint diff has one path");
  refused({"show", "a", "b"}, "unexpected argument \"b\"");
  refused({"show", "a", "--jsn"}, "unknown option --jsn; did you mean \"--json\"?");
}
