// Several processes with a device each, through LibTorch's process group for NCCL. The results must be those of as many
// processes on the CPU.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cuda_standin/hosts/standin_host.h"
#include "tests/test_folder.h"

namespace tenon::cuda_standin {

namespace fs = std::filesystem;

namespace processes_test {

const Variables kTwoDevices{{"TENON_STANDIN_DEVICES", "2"}};
const Words kFaulty{"--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/faulty"};
const std::string kVit = "model={use=\"vit\",params={image_size=8,patch_size=4,width=12,depth=2,heads=3,mlp_width=20}}";

// Sums of a transformer are as long as those of the small network, but an error passes through two layers with
// attention and layer norms, that is 8 products in a row.
constexpr double kDeepLimit = 8 * kLimit;

void check_two(const std::string& name, const Words& settings, double limit = kLimit) {
  check_same_as_on_cpu({name, settings, {"--processes", "2"}, kTwoDevices}, limit);
}

std::string faulty(const std::string& params) { return "callback=[{use=\"faulty\",params={" + params + "}}]"; }

}  // namespace processes_test

using namespace processes_test;

TEST_CASE("two processes with a device each have the results of two processes on the CPU") {
  check_two("plain", {"train={epochs=2,accumulate=2,clip_norm=0.5}"});
}

TEST_CASE("divided weights on two devices have the results of the CPU") {
  check_two("parameters", {kVit, "distributed.shard=\"parameters\"", "train={epochs=2,clip_norm=0.5}"}, kDeepLimit);
}

TEST_CASE("a lost process with a device ends the run with exit code 6") {
  check_errors(start({"lost",
                      {faulty("rank=1,how=\"kill\",where=\"step\""), "data.batch_size=24"},
                      joined(kFaulty, {"--processes", "2"}),
                      kTwoDevices}),
               6, {"rank 1 was ended by SIGKILL"});
}

TEST_CASE("a device that fails in one of two processes ends the run with exit code 12") {
  Variables variables = kTwoDevices;
  variables.insert({{"TENON_STANDIN_FAIL_DEVICE", "1"}, {"TENON_STANDIN_FAIL_AT", "200"}});
  const Outcome outcome = start({"one_fails", {}, {"--processes", "2"}, variables});
  CHECK_MESSAGE(outcome.exit_code == 12, outcome.errors);
  // The training thread of the rank notices it, or LibTorch's watchdog of NCCL.
  for (const char* const text : {"the device failed", "rank 1 ended with exit code 12"})
    CHECK_MESSAGE(outcome.errors.find(text) != std::string::npos, outcome.errors);
}

TEST_CASE("two processes share one device only if there are as many devices") {
  check_errors(start({"few", {}, {"--processes", "2"}, {}}), 2,
               {"found one CUDA device, cuda:0, but none for process 1"});
}

TEST_SUITE("soak" * doctest::skip()) {
  TEST_CASE("each division and compression on two devices has the results of the CPU") {
    for (const std::string shard : {"optimizer", "gradients", "parameters"})
      for (const char* train :
           {"epochs=2,clip_norm=0.5", "epochs=2,accumulate=2", "epochs=2,average={use=\"ema\",decay=0.9}"})
        check_two(shard, {kVit, "distributed.shard=\"" + shard + "\"", "train={" + std::string(train) + "}"},
                  kDeepLimit);
    // A sum that is rounded to 8 or 11 bits may round to the other neighbour: 2^-8 of a gradient.
    check_two("bf16", {"distributed.compression=\"bf16\""}, 1.0 / 256);
    check_two("fp16", {"distributed.compression=\"fp16\""}, 1.0 / 2048);
  }

  TEST_CASE("synchronised batch norms on two devices have the results of the CPU") {
    check_two("batch_norm",
              {"distributed.synchronize_batch_norm=true", "model={use=\"small_cnn\"}", "run.deterministic=false"},
              kDeepLimit);
  }

  TEST_CASE("an evaluation on two devices has the results of one") {
    const fs::path folder = train({"evaluated", {}, {}, {}});
    const Words weights{"--checkpoint", (folder / "checkpoints/latest").string(), "--json"};
    const Outcome one = start({"one", {}, weights, {}}, "evaluate");
    const Outcome two = start({"two", {}, joined(weights, {"--processes", "2"}), kTwoDevices}, "evaluate");
    CHECK(one.exit_code == 0);
    REQUIRE_MESSAGE(two.exit_code == 0, two.errors);
    const auto metrics = [](const Outcome& outcome) {
      return nlohmann::json::parse(outcome.output)["sets"][0]["metrics"];
    };
    CHECK(metrics(two)["validation/accuracy"] == metrics(one)["validation/accuracy"]);
    CHECK(metrics(two)["validation/loss"].get<double>() ==
          doctest::Approx(metrics(one)["validation/loss"].get<double>()).epsilon(kLimit));
  }

  TEST_CASE("a run that lost a process with a device continues with fewer, and then with all of them") {
    Variables variables = kTwoDevices;
    variables.insert({{"TENON_TEST_FAULTY_STEP", "3"},
                      {"TENON_TEST_FAULTY_ATTEMPTS", "2"},
                      {"TENON_TEST_FAULTY_LAST_ATTEMPT", "3"}});
    const Outcome outcome = start(
        {"elastic",
         {faulty("rank=1,how=\"kill\",where=\"environment\""), "train={epochs=1000000}",
          "checkpoint={every=\"2 steps\",asynchronous=false}", "data.batch_size=24", "validation.every=\"never\""},
         joined(kFaulty, {"--processes", "1:2", "--restarts", "2"}),
         variables});
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.errors.find("restart 2 of 2, with 1 process") != std::string::npos);
    CHECK(outcome.errors.find("the run restarts with 2 processes from its newest checkpoint") != std::string::npos);
    CHECK(outcome.output.find("this is the last attempt of the test") != std::string::npos);
  }

  TEST_CASE("a killed run on two devices resumes bit for bit") {
    for (const char* shard : {"none", "optimizer", "gradients", "parameters"}) {
      const Outcome verified = start({"verified",
                                      {kVit, "distributed.shard=\"" + std::string(shard) + "\""},
                                      {"--steps", "12", "--kills", "1", "--processes", "2"},
                                      kTwoDevices},
                                     "verify-resume");
      CAPTURE(shard);
      CHECK_MESSAGE(verified.exit_code == 0, verified.errors, verified.output);
    }
  }

  TEST_CASE("a process that hangs in a plugin ends the run with exit code 6") {
    check_errors(start({"hanging",
                        {faulty("rank=1,how=\"hang\",where=\"step\""), "distributed.timeout_s=4", "data.batch_size=24"},
                        joined(kFaulty, {"--processes", "2"}),
                        kTwoDevices}),
                 6, {"rank 1 is in callback"});
  }

  TEST_CASE("a device that fails ends all processes with exit code 12") {
    for (const char* n : {"20", "200", "700"}) {
      Variables variables = kTwoDevices;
      variables["TENON_STANDIN_FAIL_AT"] = n;
      const Outcome outcome = start({"failing", {}, {"--processes", "2"}, variables});
      CAPTURE(n);
      CHECK_MESSAGE(outcome.exit_code == 12, outcome.errors);
    }
  }
}

}  // namespace tenon::cuda_standin
