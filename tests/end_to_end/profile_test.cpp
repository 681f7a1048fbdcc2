// Compares `host profile` with PyTorch's counter. tests/parity/make_profile.py computes the reference. `host
// batch-size` is tested on a model of a known size.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/hosted_run.h"

namespace profile_test {

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
    const Outcome outcome = require_success(run_host(arguments_for(expected)));
    const Json found = Json::parse(outcome.output);
    CHECK(found["parameters"] == expected["parameters"]);
    CHECK(found["bytes"] == expected["bytes"]);
    CHECK(found["forward_flops"] == expected["forward_flops"]);
    CHECK(found["step_flops"] == expected["step_flops"]);
    CHECK(found["uncounted"].empty());
  }
}

// The largest batch size within `memory` GiB, far below the memory of any machine.
std::vector<std::string> batch_size_arguments(const std::string& memory, const std::vector<std::string>& more = {}) {
  return joined({"batch-size", "--config", kDigits, "--repeats", "1", "--memory", memory, "--set",
                 "data.train={use=\"synthetic\", params={samples=3000, channels=1, height=32, "
                 "width=32}}"},
                more);
}

}  // namespace

TEST_CASE("parameters, size and FLOPs equal PyTorch's counts") { check_counts(12'000'000); }

TEST_CASE("parameters, size and FLOPs of large networks equal PyTorch's counts" * doctest::test_suite("soak") *
          doctest::skip()) {
  check_counts(std::numeric_limits<int64_t>::max());
}

TEST_CASE("the table has a row for each module and the costs of a batch") {
  const Outcome outcome = require_success(run_host({"profile", "--config", kDigits, "--repeats", "2"}));
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
    require_success(run_host(joined(command, {"--config", kDigits, "--set", "callback=[{use=\"early_stopping\"}]"})));
  }
}

TEST_CASE("both memory formats are timed on request") {
  const Outcome outcome = require_success(run_host({"profile", "--config", TENON_SOURCE_DIR "/configs/digits.toml",
                                                    "--repeats", "1", "--memory-formats", "--json"}));
  const Json found = Json::parse(outcome.output);
  CHECK(found["step_seconds_by_memory_format"]["contiguous"]["median"] > 0);
  CHECK(found["step_seconds_by_memory_format"]["channels_last"]["median"] > 0);
}

TEST_CASE("invalid arguments of profile are refused") {
  for (const char* option : {"--batch-size", "--repeats", "--depth"}) {
    check_errors(run_host({"profile", "--config", kDigits, option, "0"}), 2,
                 {std::string(option) + " is 0; expected at least 1"});
  }
}

TEST_CASE("the search stops at a batch size within the limit, and the next multiple of 8 exceeds it") {
  const int64_t limit = 8 << 20;
  const Outcome outcome = require_success(run_host(batch_size_arguments("0.0078125", {"--json"})));
  const Json found = Json::parse(outcome.output);
  CHECK(found["memory_limit"] == limit);
  const int64_t largest = found["batch_size"];
  // The inputs alone take 4 KiB per sample.
  CHECK(largest % 8 == 0);
  CHECK(largest >= 8);
  CHECK(largest <= limit / (4 << 10));
  CHECK(found["has_all_samples"] == false);
  std::vector<Json> fitting;
  bool has_tried_next = false;
  for (const Json& trial : found["trials"]) {
    CHECK(trial["fits"] == (trial["peak"].get<int64_t>() <= limit));
    CHECK(trial["step_seconds"] > 0);
    if (trial["fits"]) fitting.push_back(trial);
    has_tried_next = has_tried_next || trial["batch_size"] == largest + 8;
  }
  REQUIRE(fitting.size() > 2);
  CHECK(fitting.front()["batch_size"] == 2);
  const Json &last = fitting.back(), &before = fitting[fitting.size() - 2];
  CHECK(last["batch_size"] == largest);
  // The next size was measured, or the line through the last two exceeds the limit.
  const double slope = (last["peak"].get<double>() - before["peak"].get<double>()) /
                       (last["batch_size"].get<double>() - before["batch_size"].get<double>());
  const double of_saved = last["kept_for_backward"].get<double>() / last["batch_size"].get<double>();
  CHECK((has_tried_next || last["peak"].get<double>() + 8 * std::max(slope, of_saved) > static_cast<double>(limit)));
}

TEST_CASE("the table ends with the line for the run file") {
  const Outcome outcome =
      require_success(run_host(batch_size_arguments("1", {"--set", "data.train.params.samples=20"})));
  for (const char* expected :
       {"mlp on the CPU", "with 1.0 GiB of memory", "peak memory", "samples/s",
        "a batch of 20 has all samples of an epoch, and fits", "batch_size = 20", "--set data.batch_size=20"}) {
    CAPTURE(expected);
    CHECK(outcome.output.find(expected) != std::string::npos);
  }
}

TEST_CASE("a model that is larger than the memory is refused with the memory that it takes") {
  check_errors(run_host(batch_size_arguments("0.0001")), 10,
               {"no batch size fits into 104.9 KiB", "a training step of one sample takes "});
}

TEST_CASE("invalid arguments of batch-size are refused") {
  check_errors(run_host(batch_size_arguments("0")), 2, {"--memory is 0.0; expected a number of GiB above 0"});
  CHECK(run_host({"batch-size", "--config", kDigits, "--repeats", "0"}).exit_code == 2);
}

}  // namespace profile_test
