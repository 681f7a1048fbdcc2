// Compares the bundled metrics with torchmetrics, scikit-learn and rouge-score on 1,000 random inputs each, in up to
// four batches of different sizes, including empty ones. tests/parity/make_metrics.py samples the same inputs.
#include <cmath>

#include "tests/bundled/opened_components.h"
#include "tests/bundled/random_case.h"
#include "tests/doctest_with_torch.h"

namespace random_metrics_test {

using namespace tenon::bundled;
using tenon::config::Values;

namespace {

struct MetricCase {
  Values params;
  std::vector<std::vector<at::Tensor>> batches;
};

// Returns up to four batches of 0 to `largest` samples.
template <class Draw>
std::vector<std::vector<at::Tensor>> draw_batches(RandomCase& draw, int64_t largest, Draw&& draw_batch) {
  std::vector<std::vector<at::Tensor>> batches;
  const int64_t count = draw.between(0, 4);
  for (int64_t i = 0; i < count; ++i) batches.push_back(draw_batch(draw.between(0, largest)));
  return batches;
}

MetricCase draw_classes(RandomCase& draw, Values params, int64_t classes, int64_t largest) {
  const auto ignore_index = draw.choose<int64_t>({-100, 255, 0});
  const std::vector<int64_t> rest = draw.trailing_shape();
  params["ignore_index"] = ignore_index;
  return {params, draw_batches(draw, largest, [&](int64_t samples) -> std::vector<at::Tensor> {
            const at::Tensor logits = draw.numbers(join({samples, classes}, rest), 64);
            at::Tensor target = draw.integers(join({samples}, rest), 0, classes);
            draw.ignore(target, ignore_index);
            return {logits, target};
          })};
}

MetricCase accuracy(RandomCase& draw) {
  const int64_t classes = draw.between(2, 4);
  const int64_t top_k = draw.between(1, classes);
  return draw_classes(draw, {{"top_k", top_k}}, classes, 4);
}

template <class Scores>
std::vector<std::vector<at::Tensor>> draw_binary(RandomCase& draw, bool ignores, int64_t largest, Scores&& scores) {
  const std::vector<int64_t> rest = draw.trailing_shape();
  return draw_batches(draw, largest, [&](int64_t samples) -> std::vector<at::Tensor> {
    const std::vector<int64_t> shape = join({samples}, rest);
    const at::Tensor logits = scores(shape);
    at::Tensor target = draw.integers(shape, 0, 2);
    if (ignores) draw.ignore(target, -100);
    return {logits, target};
  });
}

MetricCase draw_with_threshold(RandomCase& draw, bool ignores) {
  const auto threshold = draw.choose<double>({0.5, 0.9, 0.25});
  return {{{"threshold", threshold}},
          draw_binary(draw, ignores, 4, [&](const std::vector<int64_t>& shape) { return draw.numbers(shape, 256); })};
}

MetricCase binary_accuracy(RandomCase& draw) { return draw_with_threshold(draw, false); }
MetricCase binary_precision_recall_f1(RandomCase& draw) { return draw_with_threshold(draw, true); }

MetricCase draw_tokens(RandomCase& draw, int64_t classes) {
  const int64_t length = draw.between(1, 4);
  return {{}, draw_batches(draw, 4, [&](int64_t samples) -> std::vector<at::Tensor> {
            const at::Tensor logits = draw.numbers({samples, length, classes}, 256);
            at::Tensor target = draw.integers({samples, length}, 0, classes);
            draw.ignore(target, -100);
            return {logits, target};
          })};
}

MetricCase token_accuracy(RandomCase& draw) { return draw_tokens(draw, 3); }
MetricCase perplexity(RandomCase& draw) { return draw_tokens(draw, 5); }

MetricCase draw_confusion(RandomCase& draw, Values params) {
  const int64_t classes = draw.between(2, 4);
  params["classes"] = classes;
  return draw_classes(draw, params, classes, 3);
}

MetricCase class_overlap(RandomCase& draw) { return draw_confusion(draw, {}); }

MetricCase precision_recall_f1(RandomCase& draw) {
  const auto average = draw.choose<std::string>({"macro", "micro", "weighted"});
  return draw_confusion(draw, {{"average", average}, {"per_class", true}});
}

MetricCase confusion_matrix(RandomCase& draw) {
  const auto normalize = draw.choose<std::string>({"none", "targets", "predictions", "all"});
  return draw_confusion(draw, {{"normalize", normalize}});
}

std::vector<std::vector<at::Tensor>> draw_regression(RandomCase& draw, const std::vector<int64_t>& rest) {
  const auto offset = draw.choose<int64_t>({0, 1 << 20});
  return draw_batches(draw, 5, [&](int64_t samples) -> std::vector<at::Tensor> {
    const at::Tensor prediction = draw.numbers(join({samples}, rest), 256) + offset;
    return {prediction, draw.numbers(join({samples}, rest), 256) + offset};
  });
}

MetricCase regression_error(RandomCase& draw) {
  const std::vector<int64_t> rest = draw.trailing_shape();
  return {{}, draw_regression(draw, rest)};
}

MetricCase r2(RandomCase& draw) {
  const auto rest = draw.choose<std::vector<int64_t>>({{}, {1}, {2}, {3}});
  return {{{"outputs", rest.empty() ? int64_t{1} : rest[0]}}, draw_regression(draw, rest)};
}

// Returns scores with ties.
MetricCase binary_ranking(RandomCase& draw) {
  return {{}, draw_binary(draw, true, 8, [&](const std::vector<int64_t>& shape) {
            return draw.integers(shape, -6, 7).to(torch::kDouble) / 4;
          })};
}

MetricCase class_ranking(RandomCase& draw) {
  const int64_t classes = draw.between(2, 4);
  const auto ignore_index = draw.choose<int64_t>({-100, 255, 0});
  return {{{"classes", classes}, {"ignore_index", ignore_index}, {"per_class", true}},
          draw_batches(draw, 12, [&](int64_t samples) -> std::vector<at::Tensor> {
            const at::Tensor logits = draw.integers({samples, classes}, -2, 3).to(torch::kDouble) / 2;
            at::Tensor target = draw.integers({samples}, 0, classes);
            draw.ignore(target, ignore_index);
            return {logits, target};
          })};
}

MetricCase draw_sequences(RandomCase& draw, Values params) {
  params["end_id"] = draw.choose<int64_t>({-1, 5});
  params["padding_id"] = draw.choose<int64_t>({-100, 4});
  return {params, draw_batches(draw, 3, [&](int64_t samples) -> std::vector<at::Tensor> {
            const at::Tensor target = draw.integers({samples, 12}, 0, 6);
            const at::Tensor noise = draw.integers({samples, 12}, 0, 8);
            const at::Tensor other = draw.integers({samples, 12}, 0, 6);
            const at::Tensor written = torch::where(noise.eq(0), other, target).slice(1, 0, draw.between(0, 12));
            return {written, target.slice(1, 0, draw.between(0, 12))};
          })};
}

MetricCase bleu(RandomCase& draw) {
  const auto max_n = draw.choose<int64_t>({4, 2, 1});
  const bool smooth = draw.between(0, 1) == 1;
  return draw_sequences(draw, {{"max_n", max_n}, {"smooth", smooth}});
}

MetricCase rouge_l(RandomCase& draw) { return draw_sequences(draw, {}); }

// The references are stored in single precision.
bool is_close(double ours, double theirs) {
  if (std::isnan(theirs)) return std::isnan(ours);
  return std::abs(ours - theirs) <= 1e-6 + 2e-6 * std::abs(theirs);
}

struct Drawn {
  std::string id;
  MetricCase (*make)(RandomCase&);
  int64_t columns;  // columns of the reference: the values for the largest number of classes
};

void check_case(const Drawn& drawn, int64_t number, at::ScalarType dtype, const double* expected) {
  RandomCase draw(drawn.id, number);
  MetricCase made = drawn.make(draw);
  tenon::components::Metric metric = open_metric(drawn.id, made.params);
  metric.reset();
  for (std::vector<at::Tensor>& batch : made.batches) {
    for (at::Tensor& input : batch)
      if (input.is_floating_point()) input = input.to(dtype);
    metric.update({}, batch);
  }
  const std::vector<double> values = metric.compute({});
  REQUIRE(static_cast<int64_t>(values.size()) <= drawn.columns);
  for (size_t i = 0; i < values.size(); ++i) {
    CAPTURE(metric.values()[i].name);
    CAPTURE(values[i]);
    CAPTURE(expected[i]);
    CHECK(is_close(values[i], expected[i]));
  }
}

void check_family(const std::string& file, at::ScalarType dtype, const std::vector<Drawn>& components) {
  std::vector<std::pair<std::string, int64_t>> tables;
  for (const Drawn& drawn : components) tables.emplace_back(drawn.id, drawn.columns);
  const std::vector<at::Tensor> references = read_reference("metrics_" + file, torch::kFloat, tables);
  for (size_t i = 0; i < components.size(); ++i) {
    for (int64_t number = 0; number < kRandomCases; ++number) {
      CAPTURE(components[i].id);
      CAPTURE(number);
      check_case(components[i], number, dtype, references[i].data_ptr<double>() + number * components[i].columns);
    }
  }
}

}  // namespace

TEST_CASE("accuracies and perplexity equal torchmetrics' on 1,000 random inputs each") {
  check_family("classes", torch::kFloat,
               {{"accuracy", accuracy, 1},
                {"binary_accuracy", binary_accuracy, 1},
                {"token_accuracy", token_accuracy, 2},
                {"perplexity", perplexity, 1}});
}

TEST_CASE("confusion matrix metrics equal torchmetrics' on 1,000 random inputs each") {
  check_family("confusion", torch::kFloat,
               {{"iou", class_overlap, 5},
                {"dice_score", class_overlap, 5},
                {"precision_recall_f1", precision_recall_f1, 15},
                {"binary_precision_recall_f1", binary_precision_recall_f1, 3},
                {"confusion_matrix", confusion_matrix, 16}});
}

TEST_CASE("regression metrics equal scikit-learn's on 1,000 random inputs each, also far from 0") {
  check_family("regression", torch::kDouble,
               {{"mae", regression_error, 1}, {"rmse", regression_error, 1}, {"r2", r2, 1}});
}

TEST_CASE("areas under curves equal scikit-learn's on 1,000 random inputs each, ties included") {
  check_family("ranking", torch::kFloat,
               {{"roc_auc", class_ranking, 5},
                {"binary_roc_auc", binary_ranking, 1},
                {"average_precision", class_ranking, 5},
                {"binary_average_precision", binary_ranking, 1}});
}

TEST_CASE("bleu equals torchmetrics' and rouge_l equals rouge-score's on 1,000 random inputs each") {
  check_family("text", torch::kFloat, {{"bleu", bleu, 1}, {"rouge_l", rouge_l, 1}});
}

}  // namespace random_metrics_test
