#include "framework/pipeline/losses/loss_sums.h"

#include <torch/types.h>

#include <cmath>
#include <limits>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::components::Loss;

namespace {

const Setup kTwoLosses{
    {}, "[[loss]]\nuse = \"cross_entropy\"\nname = \"smoothed\"\nweight = 0.5\nparams = { label_smoothing = 0.1 }\n"};

Loss::Result mean_of(double mean, double weight) { return {at::scalar_tensor(mean, at::kDouble), {}, weight, {}}; }

void add(LossSums& sums, const std::vector<Loss::Result>& batch) { sums.add(batch, {}); }

}  // namespace

TEST_CASE("the mean is taken over items, not over batches") {
  const BuiltRun run({});
  LossSums sums(run.training->losses);
  CHECK(std::isnan(sums.total()));
  add(sums, {mean_of(1, 3)});
  add(sums, {mean_of(5, 1)});
  CHECK(sums.total() == 2.0);
  CHECK(sums.mean(0) == 2.0);
  CHECK(sums.weight(0) == 4.0);
  CHECK(sums.parts().empty());  // one loss has no parts
  LossSums both(run.training->losses);
  add(both, {mean_of(6, 4)});
  both.add(sums);
  CHECK(both.total() == 4.0);
  sums.reset();
  CHECK(std::isnan(sums.total()));
}

TEST_CASE("a batch without items does not affect the mean") {
  const BuiltRun run({});
  LossSums sums(run.training->losses);
  add(sums, {mean_of(2, 4)});
  add(sums, {mean_of(std::nan(""), 0)});
  CHECK(sums.total() == 2.0);
  CHECK_FALSE(sums.find_non_finite().has_value());
}

TEST_CASE("a loss without items is left out of the sum of several losses") {
  const BuiltRun run(kTwoLosses);
  LossSums sums(run.training->losses);
  add(sums, {mean_of(2, 4), mean_of(std::nan(""), 0)});
  CHECK(sums.total() == 2.0);
  add(sums, {mean_of(2, 4), mean_of(6, 1)});
  CHECK(sums.total() == 2.0 + 0.5 * 6.0);
  REQUIRE(sums.parts().size() == 2);
  CHECK(sums.parts()[1].first == "smoothed");
  CHECK(sums.parts()[1].second == 6.0);
}

TEST_CASE("a loss with items that is not finite is found") {
  const BuiltRun run(kTwoLosses);
  LossSums sums(run.training->losses);
  add(sums, {mean_of(2, 4), mean_of(std::numeric_limits<double>::infinity(), 1)});
  CHECK(sums.find_non_finite() == 1);
}

TEST_CASE("a weight that is no count is an error of the loss") {
  const BuiltRun run({});
  LossSums sums(run.training->losses);
  for (const double weight : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_WITH_AS(add(sums, {mean_of(1, weight)}),
                         doctest::Contains("expected the number of items that the mean was taken over"),
                         tenon::support::Error);
}
