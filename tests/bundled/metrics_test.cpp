// Tests the bundled metrics with NaN scores and invalid targets. random_metrics_test.cpp compares their values, also of
// empty batches and ignored targets.
#include <cmath>
#include <limits>

#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"

namespace metrics_test {

using namespace tenon::bundled;
using tenon::components::Metric;
using tenon::config::Values;

namespace {

const double kNaN = std::nan("");

std::vector<double> evaluate(const std::string& id, const Values& params,
                             const std::vector<std::vector<at::Tensor>>& batches) {
  Metric metric = open_metric(id, params);
  metric.reset();
  for (const std::vector<at::Tensor>& batch : batches) metric.update({}, batch);
  return metric.compute({});
}

void check_all_nan(const std::vector<double>& values) {
  REQUIRE(!values.empty());
  for (const double value : values) CHECK(std::isnan(value));
}

void check_refused(const std::string& id, const Values& params, const std::vector<at::Tensor>& batch,
                   const std::string& message) {
  CAPTURE(id);
  const std::string refusal =
      tenon::find_error(tenon::support::ErrorKind::data, [&] { evaluate(id, params, {batch}); });
  CAPTURE(refusal);
  CHECK(tenon::contains(refusal, message));
}

const char* const kOfClasses[] = {"average_precision",   "confusion_matrix", "dice_score", "iou",
                                  "precision_recall_f1", "roc_auc"};
const Values kThreeClasses = {{"classes", int64_t{3}}, {"ignore_index", int64_t{255}}};

}  // namespace

TEST_CASE("NaN scores are not predictions") {
  at::Tensor logits = numbers({2, 3, 2}, 8);
  logits[1][2][1] = kNaN;
  const at::Tensor target = torch::tensor({{0, 1}, {1, 0}});
  const at::Tensor ignored_there = torch::tensor({{0, 1}, {1, 255}});
  for (const char* id : kOfClasses) {
    CAPTURE(id);
    check_all_nan(evaluate(id, kThreeClasses, {{logits, target}}));
    CHECK(!std::isnan(evaluate(id, kThreeClasses, {{logits, ignored_there}})[0]));
  }
  check_all_nan(evaluate("accuracy", {}, {{logits, target}}));
  check_all_nan(evaluate("token_accuracy", {}, {{logits, torch::tensor({{0, 1, 0}, {1, 0, 1}})}}));
  const at::Tensor odds = torch::tensor({0.5, kNaN, -1.0, 2.0});
  const at::Tensor binary = torch::tensor({1, 0, 0, 1});
  for (const char* id :
       {"binary_accuracy", "binary_average_precision", "binary_precision_recall_f1", "binary_roc_auc"}) {
    CAPTURE(id);
    check_all_nan(evaluate(id, {}, {{odds, binary}}));
  }
  for (const char* id : {"mae", "rmse", "r2"}) check_all_nan(evaluate(id, {}, {{odds, torch::ones({4})}}));
}

TEST_CASE("classification metrics reject a target that is not a class") {
  const at::Tensor logits = numbers({1, 3, 2}, 8);
  for (const char* id : kOfClasses) {
    check_refused(id, kThreeClasses, {logits, torch::tensor({{1, 7}})},
                  "a target is 7; expected a class from 0 to 2, or ignore_index (255)");
    check_refused(id, kThreeClasses, {logits, torch::tensor({{-1, 0}})},
                  "a target is -1; expected a class from 0 to 2, or ignore_index (255)");
  }
  // Products of these with the number of classes overflow, some to a valid value.
  const Values four_classes = {{"classes", int64_t{4}}, {"ignore_index", int64_t{255}}};
  for (const int64_t target : {std::numeric_limits<int64_t>::min(), int64_t{1} << 62, int64_t{-1} << 62})
    for (const char* id : kOfClasses)
      check_refused(id, four_classes, {numbers({1, 4, 2}, 8), torch::tensor({{target, int64_t{0}}})},
                    "a target is " + std::to_string(target) + "; expected a class from 0 to 3");
  check_refused("accuracy", {}, {logits, torch::tensor({{1, 7}})},
                "number of invalid targets: 1; expected classes of the logits, or ignore_index (-100)");
  check_refused("token_accuracy", {}, {logits, torch::tensor({{1, 0, 2}})},
                "number of invalid targets: 1; expected classes of the logits, or ignore_index (-100)");
}

TEST_CASE("binary metrics reject targets that are not binary") {
  for (const char* id : {"binary_accuracy", "binary_precision_recall_f1"})
    check_refused(id, {}, {torch::ones({3}), torch::tensor({1, 2, 0})},
                  "number of invalid targets: 1; expected numbers in [0, 1]");
  for (const char* id : {"binary_average_precision", "binary_roc_auc"})
    check_refused(id, {}, {torch::ones({3}), torch::tensor({1, 2, 0})}, "a target is 2; expected a number in [0, 1]");
}

TEST_CASE("binary metrics treat target probabilities above 0.5 as 1") {
  const at::Tensor odds = torch::tensor({1.0, 1.0, -1.0, -1.0});
  const at::Tensor target = torch::tensor({0.75, 0.5, 0.5, 1.0});
  CHECK(evaluate("binary_accuracy", {}, {{odds, target}}) == std::vector<double>{0.5});
  CHECK(evaluate("binary_precision_recall_f1", {}, {{odds, target}}) == std::vector<double>{0.5, 0.5, 0.5});
  CHECK(evaluate("binary_roc_auc", {}, {{odds, target}}) == std::vector<double>{0.5});
}

TEST_CASE("the threshold of binary metrics is not rounded to half precision") {
  for (const double threshold : {0.3, 0.6, 0.7, 0.8, 0.9}) {
    CAPTURE(threshold);
    const at::Tensor odds = torch::full({1}, std::log(threshold / (1 - threshold)));
    for (const auto dtype : {torch::kFloat16, torch::kBFloat16}) {
      const at::Tensor logits = odds.to(dtype);
      const double is_above = logits.to(torch::kFloat64).item<double>() > std::log(threshold / (1 - threshold)) ? 1 : 0;
      const Values params = {{"threshold", threshold}};
      CHECK(evaluate("binary_accuracy", params, {{logits, torch::ones({1})}}) == std::vector<double>{is_above});
      CHECK(evaluate("binary_precision_recall_f1", params, {{logits, torch::ones({1})}})[1] == is_above);
    }
  }
}

TEST_CASE("confident scores are ranked: two classes have the same area") {
  torch::manual_seed(1);
  for (const double margin : {0.0, 12.0, 18.0, 30.0, 200.0}) {
    CAPTURE(margin);
    const at::Tensor target = torch::arange(60) % 2;
    const at::Tensor odds = margin + torch::randn({60}) + target;
    const double area = evaluate("binary_roc_auc", {}, {{odds, target}})[0];
    CHECK(area > 0.6);
    CHECK(area < 0.9);
    const at::Tensor logits = torch::stack({torch::zeros({60}), odds}, 1);
    const std::vector<double> found =
        evaluate("roc_auc", {{"classes", int64_t{2}}, {"per_class", true}}, {{logits, target}});
    for (const double value : found) CHECK(value == doctest::Approx(area).epsilon(1e-12));
  }
}

TEST_CASE("per-class values are reported on request") {
  for (const char* id : {"iou", "dice_score", "roc_auc", "average_precision"}) {
    CAPTURE(id);
    Values params = {{"classes", int64_t{3}}, {"per_class", false}};
    REQUIRE(open_metric(id, params).values().size() == 1);
    CHECK(open_metric(id, params).values()[0].name == id);
    params["per_class"] = true;
    REQUIRE(open_metric(id, params).values().size() == 4);
    CHECK(open_metric(id, params).values()[3].name == std::string(id) + "_2");
  }
  CHECK(open_metric("precision_recall_f1", {{"classes", int64_t{3}}}).values().size() == 3);
  CHECK(open_metric("precision_recall_f1", {{"classes", int64_t{3}}, {"per_class", true}}).values()[5].name == "f1_0");
  CHECK(open_metric("confusion_matrix", {{"classes", int64_t{3}}}).values()[5].name == "confusion_1_2");
}

TEST_CASE("the name of top-k accuracy contains k, which must not exceed the number of classes") {
  const Values params = {{"top_k", int64_t{5}}};
  CHECK(open_metric("accuracy", params).values()[0].name == "top5_accuracy");
  CHECK_THROWS_WITH_AS(evaluate("accuracy", params, {{numbers({1, 3}, 8), torch::tensor({1})}}),
                       doctest::Contains("top_k is 5; the logits have 3 classes"), tenon::support::Error);
}

}  // namespace metrics_test
