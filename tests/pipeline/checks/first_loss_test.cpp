// Tests the comparison of the first batch's loss with the zero-output baseline.
#include "framework/pipeline/state/run_state.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

TEST_CASE("the zero-output baseline of a model with ten classes is a cross entropy of ln 10") {
  BuiltRun run({{"train.epochs=1"}});
  const RunReport report = run.train();
  REQUIRE(report.state.first_loss.has_value());
  // A mean over 400 samples in single precision: each term of its sum rounds once.
  CHECK(report.state.first_loss->zero_output == doctest::Approx(std::log(10)).epsilon(400 * 0x1p-24));
  CHECK(report.state.first_loss->found == doctest::Approx(std::log(10)).epsilon(0.2));
  CHECK_FALSE(report.state.first_loss->is_far_above());
}

TEST_CASE("the reported initial loss is the loss of the first batch") {
  BuiltRun run({{"train.epochs=1", "log.every=1 step"}});
  const RunReport report = run.train();
  CHECK(report.state.first_loss.value().found ==
        doctest::Approx(run.recorder.of_kind(LineKind::step).front().at("train/loss")).epsilon(1e-6));
}

TEST_CASE("a model with far too large outputs starts far above the zero-output baseline") {
  BuiltRun run({{"train.epochs=1"}});
  {
    const torch::NoGradGuard no_grad;
    for (const auto& one : run.training->model.tensors()) at::Tensor(one.tensor).mul_(20);
  }
  const RunReport report = run.train();
  REQUIRE(report.state.first_loss.has_value());
  CHECK(report.state.first_loss->is_far_above());
  CHECK(describe(*report.state.first_loss).find("check the initialisation of the model") != std::string::npos);
}

TEST_CASE("a resumed run has no first batch, and computing the baseline changes nothing") {
  BuiltRun run({{"train.epochs=2"}});
  run.train();
  BuiltRun half({{"train.epochs=2"}});
  const RunReport report = half.train({}, 0, &run.recorder.checkpoints.front());
  CHECK_FALSE(report.state.first_loss.has_value());
  check_same_weights(run, half);
}
