#include "tests/parity/loss_history.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "tests/test_folder.h"

namespace tenon::parity {
namespace {

std::filesystem::path write(const std::string& name, const std::string& text) {
  const std::filesystem::path file = tenon::test_folder() / name;
  std::ofstream(file) << text;
  return file;
}

TEST_CASE("step losses are read from the step events of a history") {
  const auto file = write("history.jsonl",
                          "{\"event\": \"step\", \"epoch\": 1, \"step\": 1, \"train/loss\": 2.5}\n"
                          "{\"event\": \"step\", \"epoch\": 1, \"step\": 2, \"train/loss\": 2.25}\n"
                          "{\"event\": \"epoch\", \"epoch\": 1, \"step\": 2, \"train/loss\": 9}\n"
                          "{\"event\": \"validation\", \"epoch\": 1, \"step\": 2, \"validation/loss\": 8}\n"
                          "{\"event\": \"step\", \"epoch\": 2, \"step\": 3, \"train/loss\": null}\n");
  const std::vector<double> losses = read_step_losses(file);
  REQUIRE(losses.size() == 3);
  CHECK(losses[0] == 2.5);
  CHECK(losses[1] == 2.25);
  CHECK(std::isnan(losses[2]));
}

TEST_CASE("validation losses are read from the validation events of a history") {
  const auto file = write("validated.jsonl",
                          "{\"event\": \"step\", \"step\": 1, \"train/loss\": 2.5}\n"
                          "{\"event\": \"validation\", \"step\": 1, \"validation/loss\": 8}\n");
  CHECK(read_validation_losses(file) == std::vector<double>{8});
}

TEST_CASE("a reference has the overrides and the losses of each case") {
  const auto file =
      write("reference.json",
            "{\"cases\": [{\"name\": \"a\", \"network\": \"mlp\", \"set\": [\"train.steps=2\"], \"limit\": 0.5, "
            "\"losses\": [1, 2], \"validation_losses\": [3]}]}");
  const std::vector<ReferenceRun> runs = read_reference_runs(file);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].overrides == std::vector<std::string>{"train.steps=2"});
  CHECK(runs[0].losses == std::vector<double>{1, 2});
  CHECK(runs[0].validation_losses == std::vector<double>{3});
  CHECK_THROWS_AS(read_reference_runs(write("no_cases.json", "{}")), std::runtime_error);
}

TEST_CASE("a history that lacks a step is rejected with its line") {
  const auto file = write("gap.jsonl",
                          "{\"event\": \"step\", \"step\": 1, \"train/loss\": 2.5}\n"
                          "{\"event\": \"step\", \"step\": 3, \"train/loss\": 2.25}\n");
  CHECK_THROWS_WITH(read_step_losses(file), (file.string() + ":2: step 3; expected 2").c_str());
}

TEST_CASE("a step without a loss and a line that is not JSON are rejected") {
  CHECK_THROWS_AS(read_step_losses(write("empty.jsonl", "{\"event\": \"step\", \"step\": 1}\n")), std::runtime_error);
  CHECK_THROWS_AS(read_step_losses(write("text.jsonl", "step 1\n")), std::runtime_error);
  CHECK_THROWS_AS(read_step_losses("no/such/file"), std::runtime_error);
}

TEST_CASE("the largest relative difference is found with its step") {
  const Difference difference = largest_difference({1, 2.02, 3}, {1, 2, 3.003});
  CHECK(difference.step == 2);
  CHECK(difference.relative == doctest::Approx(0.01));
  CHECK(largest_difference({1, 2}, {1, 2}).relative == 0);
}

TEST_CASE("the difference to a loss that is not finite is infinite") {
  CHECK(std::isinf(largest_difference({1, std::numeric_limits<double>::quiet_NaN()}, {1, 2}).relative));
  CHECK(std::isinf(largest_difference({std::numeric_limits<double>::infinity()}, {1}).relative));
}

TEST_CASE("runs of different lengths are rejected") {
  CHECK_THROWS_WITH(largest_difference({1, 2}, {1, 2, 3}), "2 steps were logged; expected 3");
  CHECK_THROWS_WITH(largest_difference({}, {}), "the reference has no steps");
}

}  // namespace
}  // namespace tenon::parity
