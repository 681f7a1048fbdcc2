#include "framework/pipeline/loss_meter.h"

#include <cmath>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

tenon::plugins::Loss::Result result(double loss, double weight) {
  return {torch::tensor(loss, torch::kDouble), {}, weight};
}

}  // namespace

TEST_CASE("the mean is taken over items, not over batches") {
  const BuiltRun run({});
  LossMeter meter(run.training->losses);
  CHECK(std::isnan(meter.read_total()));
  meter.add({result(1.0, 3)});
  meter.add({result(5.0, 1)});
  CHECK(meter.read_total() == 2.0);
  CHECK(meter.read_parts().empty());  // one loss has no parts
  meter.add({{torch::tensor(8.0, torch::kDouble), torch::tensor(int64_t{4}), 0}});
  CHECK(meter.read_total() == 5.0);
  meter.reset();
  CHECK(std::isnan(meter.read_total()));
}

TEST_CASE("a batch without items does not spoil the mean") {
  const BuiltRun run({});
  LossMeter meter(run.training->losses);
  meter.add({result(2.0, 4)});
  meter.add({result(std::nan(""), 0)});
  CHECK(meter.read_total() == 2.0);
}
