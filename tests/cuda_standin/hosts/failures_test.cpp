// Memory of the device that runs out, and a device that fails, at any point of a run. The run must end with its exit
// code and leave an intact checkpoint, from which it resumes to the weights of an undisturbed run.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cuda_standin/hosts/standin_host.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace tenon::cuda_standin {

namespace fs = std::filesystem;

namespace failures_test {

constexpr int kOutOfMemory = 10, kDeviceFailed = 12;

// Resumes a run that failed, now with a device that works.
void check_resumes(Run run, const std::string& weights) {
  run.variables.clear();
  run.arguments = {"--resume", "auto"};
  const Outcome outcome = require_success(start(run));
  CHECK(!contains(outcome.errors, "damaged"));
  CHECK(read_weights(folder_of(run.name)) == weights);
}

struct Disturbed {
  int exit_code;
  bool is_resumed;
};

// Runs with this value of a variable of the stand-in. If the run fails after its first checkpoint, resumes it.
Disturbed disturb(Run run, const std::string& variable, int64_t value, int expected_code, const std::string& weights) {
  CAPTURE(variable);
  CAPTURE(value);
  run.name = "disturbed";
  run.variables[variable] = std::to_string(value);
  const fs::path runs = test_folder() / "runs/disturbed";
  fs::remove_all(runs);
  const Outcome outcome = start(run);
  CAPTURE(outcome.errors);
  if (outcome.exit_code == 0) {
    CHECK(read_weights(folder_of("disturbed")) == weights);
    return {0, false};
  }
  CHECK(outcome.exit_code == expected_code);
  if (expected_code == kDeviceFailed) {
    CHECK(contains(outcome.errors, "error: the device failed"));
    CHECK(contains(outcome.errors, "CUDA error: device-side assert triggered"));
    CHECK(
        contains(outcome.errors, "checkpoints written before are intact, and --resume auto continues from the newest"));
  } else {
    CHECK(contains(outcome.errors, "error: out of memory"));
  }
  if (!fs::exists(runs)) return {outcome.exit_code, false};
  const auto record = nlohmann::json::parse(end_to_end::read_file(folder_of("disturbed") / "run.json"));
  CHECK(record["exit_code"] == expected_code);
  const bool is_resumed = fs::exists(folder_of("disturbed") / "checkpoints/latest");
  if (is_resumed) check_resumes(run, weights);
  return {outcome.exit_code, is_resumed};
}

struct Sweep {
  int failures = 0, resumed = 0;
};

// Disturbs the run with ascending values until it does not fail any more.
template <class Next>
Sweep sweep(const Run& run, const std::string& variable, int expected_code, Next next) {
  const std::string weights = read_weights(train(run));
  Sweep counts;
  for (int64_t value = 1;; value = next(value)) {
    const Disturbed disturbed = disturb(run, variable, value, expected_code, weights);
    if (disturbed.exit_code == 0) return counts;
    ++counts.failures;
    counts.resumed += disturbed.is_resumed;
  }
}

const std::string kFailAt = "TENON_STANDIN_FAIL_AT", kMemory = "TENON_STANDIN_MEMORY_MIB";

const std::vector<Run> kRuns{
    {"graphs", {}, {}, {}},
    {"adamw",
     {"train={epochs=2,cuda_graph=\"off\",precision=\"fp16\",accumulate=2,clip_norm=1.0,average={use=\"ema\",decay=0.9}"
      "}",
      "optimizer={use=\"adamw\",lr=0.01}", "validation.every=\"2 steps\"", "checkpoint.every=\"1 step\""},
     {},
     {}},
    {"convolutions", {"model={use=\"small_cnn\"}", "run.deterministic=false", "train={epochs=2}"}, {}, {}},
};

}  // namespace failures_test

using namespace failures_test;

TEST_CASE("a device that fails ends the run with exit code 12, and the run resumes") {
  // 1, 2, 4, 8, ... are in the start, the first steps, the recording of the graph, replays and checkpoints.
  const Sweep counts = sweep(kRuns[0], kFailAt, kDeviceFailed, [](int64_t n) { return 2 * n; });
  CHECK(counts.failures >= 9);
  CHECK(counts.resumed >= 2);
}

TEST_CASE("memory that runs out ends the run with exit code 10") {
  CHECK(sweep(kRuns[0], kMemory, kOutOfMemory, [](int64_t mib) { return mib + 12; }).failures >= 2);
}

TEST_CASE("memory that runs out while a graph is recorded lets the run continue without graphs") {
  Run run{"recorded", {"model.params.hidden=[4096]"}, {}, {}};
  const std::string weights = read_weights(train(run));
  run.variables["TENON_STANDIN_RECORDED_ALLOCATIONS_FAIL"] = "1";
  const Outcome outcome = start(run);
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.errors);
  CHECK_MESSAGE(contains(outcome.errors, "the run continues without CUDA graphs"), outcome.errors);
  CHECK(read_weights(folder_of("recorded")) == weights);
}

TEST_CASE("validation batches that do not fit into memory end the run with exit code 10, and the run resumes") {
  const Run run{"validated", {"data.validation_batch_size=359", "model.params.hidden=[16384]"}, {}, {}};
  const std::string weights = read_weights(train(run));
  // Steps need less than 80 MiB, most of it for the workspace of cuBLAS and for weights, gradients and momenta. In a
  // validation the outputs of the first layer and of its activation take 24 MiB each.
  const Disturbed disturbed = disturb(run, kMemory, 88, kOutOfMemory, weights);
  CHECK(disturbed.exit_code == kOutOfMemory);
  CHECK(disturbed.is_resumed);
}

TEST_SUITE("soak" * doctest::skip()) {
  TEST_CASE("a device that fails at any work ends the run with exit code 12, and the run resumes") {
    for (const Run& run : kRuns) {
      CAPTURE(run.name);
      const Sweep counts = sweep(run, kFailAt, kDeviceFailed, [](int64_t n) { return n + 61; });
      CHECK(counts.failures > 20);
      CHECK(counts.resumed > 10);
    }
  }

  TEST_CASE("memory that runs out at any point ends the run with exit code 10, and the run resumes") {
    for (const Run& run : kRuns) {
      CAPTURE(run.name);
      CHECK(sweep(run, kMemory, kOutOfMemory, [](int64_t mib) { return mib + 2; }).failures > 10);
    }
  }
}

}  // namespace tenon::cuda_standin
