// Activation checkpointing: bitwise equal results with less memory.
#include "framework/support/diagnostics/error.h"
#include "tests/allocated_memory.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

const std::string kSegmented = "model={use=\"segmented\"}";

std::map<std::string, at::Tensor> train(const std::vector<std::string>& overrides, bool checkpointing,
                                        int64_t* peak = nullptr) {
  BuiltRun run({join_settings(overrides,
                              {"run.deterministic=true", "data.workers=0", "validation.every=\"never\"",
                               std::string("train.activation_checkpointing=") + (checkpointing ? "true" : "false")})});
  const auto memory = std::make_shared<tenon::AllocatedMemory>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, memory);
  run.train();
  if (peak) *peak = memory->peak;
  return run.recorder.weights;
}

void check_same(const std::vector<std::string>& overrides) {
  const auto plain = train(overrides, false);
  const auto again = train(overrides, true);
  REQUIRE(plain.size() == again.size());
  for (const auto& weight : plain) {
    INFO(weight.first);
    CHECK(torch::equal(weight.second, again.at(weight.first)));  // including batch statistics and their count
  }
}

}  // namespace

TEST_CASE("recomputed segments give the same gradients, with dropout and batch statistics") {
  check_same({kSegmented, "train={steps=3}"});
  check_same({kSegmented, "train={steps=3,accumulate=2}", "data.batch_size=100"});
}

TEST_CASE("recomputed segments give the same gradients under autocast and with a loss scale") {
  check_same({kSegmented, "train={steps=3,precision=\"bf16\"}"});
  check_same({kSegmented, "train={steps=3,precision=\"fp16\"}", "data.batch_size=50"});
}

TEST_CASE("activation checkpointing lowers the peak memory") {
  int64_t plain = 0, lowered = 0;
  train({kSegmented, "train={steps=2}"}, false, &plain);
  train({kSegmented, "train={steps=2}"}, true, &lowered);
  INFO(plain << " and " << lowered << " bytes");
  CHECK(static_cast<double>(lowered) < 0.7 * static_cast<double>(plain));
}

TEST_CASE("a segment with fewer outputs than declared is a plugin error") {
  BuiltRun run({{"model={use=\"segmented\",params={wrong_outputs=true}}", "train.activation_checkpointing=true"}});
  CHECK_THROWS_WITH_AS(run.train(), doctest::Contains("outputs of a segment: got 1; expected 2"),
                       tenon::support::Error);
}
