#include "framework/pipeline/losses/loss_meter.h"

#include <cmath>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

const Setup kTwoLosses{
    {}, "[[loss]]\nuse = \"cross_entropy\"\nname = \"smoothed\"\nweight = 0.5\nparams = { label_smoothing = 0.1 }\n"};

}  // namespace

TEST_CASE("the mean is taken over items, not over batches") {
  const BuiltRun run({});
  LossMeter meter(run.training->losses);
  CHECK(std::isnan(meter.total()));
  meter.add({{1.0, 3}});
  meter.add({{5.0, 1}});
  CHECK(meter.total() == 2.0);
  CHECK(meter.parts().empty());  // one loss has no parts
  meter.reset();
  CHECK(std::isnan(meter.total()));
}

TEST_CASE("a batch without items does not affect the mean") {
  const BuiltRun run({});
  LossMeter meter(run.training->losses);
  meter.add({{2.0, 4}});
  meter.add({{std::nan(""), 0}});
  CHECK(meter.total() == 2.0);
}

TEST_CASE("a loss without items is left out of the sum of several losses") {
  const BuiltRun run(kTwoLosses);
  LossMeter meter(run.training->losses);
  meter.add({{2.0, 4}, {std::nan(""), 0}});
  CHECK(meter.total() == 2.0);
  meter.add({{2.0, 4}, {6.0, 1}});
  CHECK(meter.total() == 2.0 + 0.5 * 6.0);
  REQUIRE(meter.parts().size() == 2);
  CHECK(meter.parts()[1].first == "smoothed");
  CHECK(meter.parts()[1].second == 6.0);
}
