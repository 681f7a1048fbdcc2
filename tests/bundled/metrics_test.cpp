// The bundled metrics against figures of torchmetrics, over two batches.
#include <cmath>
#include <limits>

#include "framework/support/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/doctest_with_torch.h"

using namespace tenon::bundled;
using tenon::plugins::Metric;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kBatches = 2;

struct JaccardCase {
  const char* name;
  int64_t classes, first, end;  // of the targets: [first, end)
  int64_t ignore_index;
  int64_t impossible;           // how many of the last logits are never the largest
  std::vector<double> figures;  // the mean, then each class
};

#include "tests/parity/reference/metrics.inc"

// torchmetrics computes in single precision.
void check_same(const std::vector<double>& ours, const std::vector<double>& theirs) {
  REQUIRE(ours.size() == theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(i);
    CHECK(std::isnan(ours[i]) == std::isnan(theirs[i]));
    if (!std::isnan(ours[i])) CHECK(ours[i] == doctest::Approx(theirs[i]).epsilon(1e-6));
  }
}

void update(Metric& metric, const JaccardCase& one, int64_t batch) {
  at::Tensor logits = numbers({2, one.classes, 5, 6}, batch, 8);
  logits.slice(1, one.classes - one.impossible).sub_(100);
  metric.update({}, {logits, classes({2, 5, 6}, batch, one.first, one.end)});
}

std::string refusal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const tenon::support::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("iou is the Jaccard index of each class, and their mean") {
  for (const JaccardCase& one : kJaccardCases) {
    CAPTURE(one.name);
    Metric metric = open_metric("iou", {{"classes", one.classes}, {"ignore_index", one.ignore_index}});
    metric.reset();
    for (int64_t batch = 0; batch < kBatches; ++batch) update(metric, one, batch);
    check_same(metric.compute({}), one.figures);
  }
}

TEST_CASE("iou without figures of each class has the mean alone") {
  const JaccardCase& one = kJaccardCases.front();
  Metric metric = open_metric("iou", {{"classes", one.classes}, {"per_class", false}});
  REQUIRE(metric.figures().size() == 1);
  CHECK(metric.figures()[0].name == "iou");
  metric.reset();
  for (int64_t batch = 0; batch < kBatches; ++batch) update(metric, one, batch);
  check_same(metric.compute({}), {one.figures[0]});
}

TEST_CASE("iou of nothing but ignored pixels is no number") {
  Metric metric = open_metric("iou", {{"classes", int64_t{2}}, {"ignore_index", int64_t{255}}});
  metric.reset();
  metric.update({}, {numbers({1, 2, 3}, 0, 8), torch::full({1, 3}, 255)});
  check_same(metric.compute({}), {kNaN, kNaN, kNaN});
}

TEST_CASE("iou refuses a target that is no class") {
  Metric metric = open_metric("iou", {{"classes", int64_t{3}}, {"ignore_index", int64_t{255}}});
  metric.reset();
  const at::Tensor logits = numbers({1, 3, 2}, 0, 8);
  CHECK(refusal_of([&] {
          metric.update({}, {logits, torch::tensor({{1, 7}})});
        }).find("a target is 7; expected a class from 0 to 2, or ignore_index (255)") != std::string::npos);
  CHECK(refusal_of([&] { metric.update({}, {logits, torch::tensor({{-1, 0}})}); }) != "");
}

TEST_CASE("binary_accuracy is the share of targets on the predicted side of the threshold") {
  for (const auto& [threshold, expected] : {std::pair{0.5, kBinaryAccuracy50}, std::pair{0.9, kBinaryAccuracy90}}) {
    CAPTURE(threshold);
    Metric metric = open_metric("binary_accuracy", {{"threshold", threshold}});
    metric.reset();
    for (int64_t batch = 0; batch < kBatches; ++batch)
      metric.update({}, {numbers({11, 3}, batch, 16), classes({11, 3}, batch, 0, 2)});
    check_same(metric.compute({}), {expected});
  }
}

TEST_CASE("binary_accuracy takes probabilities above a half for ones") {
  Metric metric = open_metric("binary_accuracy");
  metric.reset();
  metric.update({}, {torch::tensor({1.0, 1.0, -1.0, -1.0}), torch::tensor({0.75, 0.5, 0.5, 1.0})});
  check_same(metric.compute({}), {0.5});
}

TEST_CASE("mae is the mean of the absolute differences") {
  Metric metric = open_metric("mae");
  metric.reset();
  for (int64_t batch = 0; batch < kBatches; ++batch)
    metric.update({}, {numbers({7, 3}, batch, 8), numbers({7, 3}, batch + 5, 4)});
  check_same(metric.compute({}), {kMae});
}

TEST_CASE("binary_accuracy and mae of no batch are no number") {
  for (const char* id : {"binary_accuracy", "mae"}) {
    Metric metric = open_metric(id);
    metric.reset();
    check_same(metric.compute({}), {kNaN});
  }
}
