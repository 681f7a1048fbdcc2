// Tests the check of metrics that callbacks name.
#include <string>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

std::string early_stopping(const std::string& params) {
  return "[[callback]]\nuse = \"early_stopping\"\nparams = { " + params + " }\n";
}

const std::string kStatistics = "[[callback]]\nuse = \"weight_statistics\"\nparams = { every = 1 }\n";

}  // namespace

TEST_CASE("a callback that monitors a metric that does not exist is refused before the first step") {
  for (const std::string mode : {"min", "max", "auto"}) {
    CAPTURE(mode);
    const std::string refusal = refusal_of({{}, early_stopping("monitor = \"val_loss\", mode = \"" + mode + "\"")});
    CHECK_MESSAGE(refusal.find("early_stopping: params.monitor is \"val_loss\"") != std::string::npos, refusal);
    CHECK_MESSAGE(refusal.find("validation/loss") != std::string::npos, refusal);
  }
  const std::string list =
      refusal_of({{}, "[[callback]]\nuse = \"nan_guard\"\nparams = { monitor = [\"train/los\"] }\n"});
  CHECK_MESSAGE(list.find("params.monitor is \"train/los\"") != std::string::npos, list);
  CHECK_MESSAGE(list.find("train/loss") != std::string::npos, list);
}

TEST_CASE("another callback logs no metric with the name of a dataset") {
  const std::string refusal =
      refusal_of({{}, kStatistics + early_stopping("monitor = \"validation/los\", mode = \"min\"")});
  CHECK_MESSAGE(refusal.find("params.monitor is \"validation/los\"") != std::string::npos, refusal);
}

TEST_CASE("a metric that another callback logs is accepted") {
  BuiltRun run({{"train.epochs=2", "log.every=\"1 step\""},
                kStatistics + early_stopping("monitor = \"weights/norm\", mode = \"max\", patience = 5")});
  run.train();
  CHECK(run.recorder.of_kind(LineKind::validation).size() == 2);
}

TEST_CASE("a metric that no callback has logged ends the run after the first validation") {
  BuiltRun run({{"train.epochs=3"}, kStatistics + early_stopping("monitor = \"val_loss\", mode = \"min\"")});
  CHECK_THROWS_WITH_AS(run.train(),
                       doctest::Contains("which no callback has logged by the end of the first validation"),
                       tenon::support::Error);
  CHECK(run.recorder.of_kind(LineKind::validation).empty());
}
