#include "tests/golden/golden_values.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <fstream>

#include <tenon/abi.h>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "tests/test_folder.h"

namespace tenon::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kHistory =
    "{\"event\": \"step\", \"epoch\": 1, \"step\": 1, \"time_s\": 0.5, \"train/loss\": 0.1}\n"
    "{\"event\": \"validation\", \"epoch\": 1, \"step\": 1, \"time_s\": 0.6, \"validation/gap\": \"NaN\"}\n";

// Writes a run folder with this history and the weights {1, 2}.
fs::path write_run(const std::string& history, double second_weight = 2) {
  const fs::path folder = tenon::test_folder() / "run";
  fs::remove_all(folder);
  fs::create_directories(folder / "checkpoints/latest");
  std::ofstream(folder / "history.jsonl") << history;
  const std::array<double, 2> weights{1, second_weight};
  const artifacts::TensorView view{
      "w", TENON_FLOAT64, {2}, reinterpret_cast<const std::byte*>(weights.data()), sizeof weights};
  artifacts::write_safetensors(folder / "checkpoints/latest/model.safetensors", std::span(&view, 1), {},
                               support::ErrorKind::internal);
  return folder;
}

std::vector<std::string> compare(const std::string& history, double second_weight = 2) {
  const ordered_json kept = ordered_json::parse(read_values(write_run(kHistory)).dump());
  return find_differences(kept, read_values(write_run(history, second_weight)));
}

std::string replace(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

TEST_CASE("a run with the reference values has no differences, whatever its times") {
  CHECK(compare(kHistory).empty());
  CHECK(compare(replace(kHistory, "0.6", "7.25")).empty());
}

TEST_CASE("a metric that differs by more than rounding is reported with its step") {
  const auto differences = compare(replace(kHistory, "0.1}", "0.10000000001}"));
  REQUIRE(differences.size() == 1);
  CHECK(differences[0] == "step of epoch 1, step 1: train/loss is 0.10000000001; expected 0.1");
  CHECK(compare(replace(kHistory, "0.1}", "0.10000000000000002}")).empty());
}

TEST_CASE("a metric that is missing or has another type is reported") {
  CHECK(compare(replace(kHistory, ", \"train/loss\": 0.1", "")) ==
        std::vector<std::string>{"step of epoch 1, step 1: train/loss is missing; expected 0.1"});
  CHECK(compare(replace(kHistory, "\"NaN\"", "3.5")).size() == 1);
  CHECK(compare(replace(kHistory, "\"train/loss\": 0.1", "\"train/loss\": -0.1")).size() == 1);
}

TEST_CASE("a line that is missing, repeated, or moved is reported") {
  const std::string history = kHistory;
  const std::string first = history.substr(0, history.find('\n') + 1);
  CHECK(compare(first).size() == 1);
  CHECK(compare(history + first).size() == 1);
  CHECK(compare(replace(history, "\"step\": 1", "\"step\": 2")).size() == 1);
}

TEST_CASE("events and metrics that later hosts add are ignored") {
  const std::string history = kHistory;
  CHECK(compare("{\"event\": \"profile\", \"epoch\": 1, \"step\": 1, \"time_s\": 0}\n" + history).empty());
  CHECK(compare(replace(history, "0.1}", "0.1, \"train/gradient_norm\": 4}")).empty());
}

TEST_CASE("a weight that differs by more than rounding is reported with its tensor's name") {
  CHECK(compare(kHistory, std::nextafter(2.0, 3.0)).empty());
  const auto differences = compare(kHistory, 2.00000000001);
  REQUIRE(differences.size() == 1);
  CHECK(differences[0].starts_with("weight w is "));
}

TEST_CASE("a run without a history or without weights is an error") {
  const fs::path folder = write_run(kHistory);
  fs::remove(folder / "history.jsonl");
  CHECK_THROWS(read_values(folder));
  fs::remove_all(write_run(kHistory) / "checkpoints");
  CHECK_THROWS(read_values(folder));
}

}  // namespace
}  // namespace tenon::golden
