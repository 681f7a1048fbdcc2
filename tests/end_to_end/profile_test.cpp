// Compares `host profile` with PyTorch's counter. tests/parity/make_profile.py computes the reference.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;
using Json = nlohmann::json;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

// Returns arguments for the network and two images of the size of the reference.
std::vector<std::string> arguments_for(const Json& network) {
  std::string params;
  for (const auto& [name, value] : network["params"].items())
    params += (params.empty() ? "" : ", ") + name + " = " + value.dump();
  const auto image = network["image"].get<std::vector<int64_t>>();
  const std::string data = "samples = 2, channels = " + std::to_string(image[0]) +
                           ", height = " + std::to_string(image[1]) + ", width = " + std::to_string(image[2]);
  return {"profile",      "--config",
          kDigits,        "--json",
          "--repeats",    "1",
          "--batch-size", "2",
          "--set",        "model={use=" + network["model"].dump() + ", params={" + params + "}}",
          "--set",        "data.train={use=\"synthetic\", params={" + data + "}}"};
}

// Checks the networks with at most this number of parameters.
void check_counts(int64_t max_parameters) {
  const Json networks = Json::parse(read_file(TENON_SOURCE_DIR "/tests/parity/reference/profile.json"));
  REQUIRE(networks.size() > 5);
  for (const auto& entry : networks.items()) {
    const std::string& name = entry.key();
    const Json& expected = entry.value();
    CAPTURE(name);
    if (expected["parameters"] > max_parameters) continue;
    const Outcome outcome = run_host(arguments_for(expected));
    CAPTURE(outcome.errors);
    REQUIRE(outcome.exit_code == 0);
    const Json found = Json::parse(outcome.output);
    CHECK(found["parameters"] == expected["parameters"]);
    CHECK(found["bytes"] == expected["bytes"]);
    CHECK(found["forward_flops"] == expected["forward_flops"]);
    CHECK(found["step_flops"] == expected["step_flops"]);
    CHECK(found["uncounted"].empty());
  }
}

}  // namespace

TEST_CASE("parameters, size and FLOPs equal PyTorch's counts") { check_counts(12'000'000); }

TEST_CASE("parameters, size and FLOPs of large networks equal PyTorch's counts" * doctest::test_suite("soak") *
          doctest::skip()) {
  check_counts(std::numeric_limits<int64_t>::max());
}

TEST_CASE("the table has a row for each module and the costs of a batch") {
  const Outcome outcome = run_host({"profile", "--config", kDigits, "--repeats", "2"});
  CAPTURE(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  for (const char* expected :
       {"mlp on the CPU", "image [64, 1, 8, 8] in fp32", "module", "parameters", "total", "MACs forward",
        "FLOPs of a training step", "saved for backward", "training step", "samples/s"}) {
    CAPTURE(expected);
    CHECK(outcome.output.find(expected) != std::string::npos);
  }
  const Outcome whole = run_host({"profile", "--config", kDigits, "--repeats", "1", "--depth", "1", "--set",
                                  "model={use=\"resnet\", params={depth=18, channels=1, stem=\"cifar\", width=4}}"});
  CHECK(whole.output.find("layer1 ") != std::string::npos);
  CHECK(whole.output.find("layer1.0") == std::string::npos);
}

TEST_CASE("commands without validation accept a run with a callback that monitors one") {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"profile", "--repeats", "1"},
                                             {"lr-find", "--steps", "5"},
                                             {"overfit", "--steps", "1", "--threshold", "100"}}) {
    CAPTURE(command.front());
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--config", kDigits, "--set", "callback=[{use=\"early_stopping\"}]"});
    const Outcome outcome = run_host(arguments);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
  }
}

TEST_CASE("both memory formats are timed on request") {
  const Outcome outcome = run_host(
      {"profile", "--config", TENON_SOURCE_DIR "/configs/digits.toml", "--repeats", "1", "--memory-formats", "--json"});
  CAPTURE(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  const Json found = Json::parse(outcome.output);
  CHECK(found["step_seconds_by_memory_format"]["contiguous"]["median"] > 0);
  CHECK(found["step_seconds_by_memory_format"]["channels_last"]["median"] > 0);
}

TEST_CASE("invalid arguments of profile are refused") {
  for (const char* option : {"--batch-size", "--repeats", "--depth"}) {
    const Outcome outcome = run_host({"profile", "--config", kDigits, option, "0"});
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.errors.find(std::string(option) + " is 0; expected at least 1") != std::string::npos);
  }
}
