// Precision, recall and F1 (van Rijsbergen, "Information Retrieval", 1979), as in torchmetrics' MulticlassPrecision,
// BinaryPrecision and so on. A division by zero gives 0.
#pragma once

#include <cmath>

#include "plugins/metrics/confusion_metrics/confusion_counts.h"

namespace tenon::metrics {

struct PrecisionRecall {
  PrecisionRecall() = default;
  PrecisionRecall(double right, double predictions, double targets)
      : precision(predictions > 0 ? right / predictions : 0),
        recall(targets > 0 ? right / targets : 0),
        f1(predictions + targets > 0 ? 2 * right / (predictions + targets) : 0) {}

  void add(const PrecisionRecall& other, double weight) {
    precision += weight * other.precision;
    recall += weight * other.recall;
    f1 += weight * other.f1;
  }
  void append_to(std::vector<double>& values) const { values.insert(values.end(), {precision, recall, f1}); }

  static void name(std::vector<MetricValue>& values, const std::string& prefix, const std::string& suffix,
                   const std::string& of) {
    values.push_back(higher_is_better(prefix + "precision" + suffix, "fraction of predictions that are correct" + of));
    values.push_back(
        higher_is_better(prefix + "recall" + suffix, "fraction of targets that are predicted correctly" + of));
    values.push_back(higher_is_better(prefix + "f1" + suffix, "harmonic mean of precision and recall" + of));
  }

  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

class PrecisionRecallF1 final : public ConfusionCounts {
 public:
  static std::vector<Param> schema() {
    return {classes_param("[2, 4096]"),
            param("average", "macro")
                .choices({"macro", "micro", "weighted"})
                .doc("mean over the classes that occur, with equal weights (macro) or weighted by their targets "
                     "(weighted), or over all targets (micro)"),
            param("ignore_index", -100)
                .range("[-1e9, 1e9]")
                .doc("target value that is ignored together with the prediction there"),
            param("per_class", false)
                .doc("also report the values of each class: precision_0, recall_0, f1_0, precision_1 and so on")};
  }

  explicit PrecisionRecallF1(const Params& params)
      : ConfusionCounts(params), average_(params.text("average")), per_class_(params.boolean("per_class")) {}

  std::vector<MetricValue> values() const {
    std::vector<MetricValue> values;
    PrecisionRecall::name(values, "", "", ", in [0, 1]; averaged over classes: " + average_);
    for (int64_t i = 0; per_class_ && i < classes(); ++i)
      PrecisionRecall::name(values, "", "_" + std::to_string(i), ", of this class; NaN if it occurs in neither");
    return values;
  }

  std::vector<double> compute(const Frame& frame) const {
    const Confusion confusion = read(frame);
    if (is_undefined(frame) || confusion.all() == 0) return std::vector<double>(values().size(), kNone);
    std::vector<double> values;
    PrecisionRecall mean;
    double total = 0;
    double right = 0;
    for (int64_t i = 0; i < classes(); ++i) {
      const auto targets = static_cast<double>(confusion.targets(i));
      const auto predictions = static_cast<double>(confusion.predictions(i));
      const PrecisionRecall of_class(static_cast<double>(confusion.right(i)), predictions, targets);
      const double weight = average_ == "weighted" ? targets : targets + predictions > 0 ? 1 : 0;
      mean.add(of_class, weight);
      total += weight;
      right += static_cast<double>(confusion.right(i));
      if (!per_class_) continue;
      if (targets + predictions > 0) {
        of_class.append_to(values);
      } else {
        values.insert(values.end(), 3, kNone);
      }
    }
    const auto all = static_cast<double>(confusion.all());
    std::vector<double> first;
    PrecisionRecall averaged;
    if (average_ == "micro") {
      averaged = PrecisionRecall(right, all, all);
    } else {
      averaged.add(mean, 1 / total);
    }
    averaged.append_to(first);
    values.insert(values.begin(), first.begin(), first.end());
    return values;
  }

 private:
  std::string average_;
  bool per_class_;
};

class BinaryPrecisionRecallF1 final {
 public:
  static std::vector<Param> schema() {
    return {param("threshold", 0.5).range("(0, 1)").doc("probability above which the prediction is 1"),
            param("ignore_index", -100).range("[-1e9, 1e9]").doc("target value that is ignored")};
  }

  explicit BinaryPrecisionRecallF1(const Params& params)
      : threshold_(std::log(params.number("threshold") / (1 - params.number("threshold")))),
        ignore_index_(params.integer("ignore_index")) {}

  std::vector<Port> ports() const {
    return {input("logits", "N,...S", TENON_ANY_FLOAT, "log-odds of the target being 1"),
            input("target", "N,...S", kBinaryTargets, "0 or 1; a probability above 0.5 counts as 1; or ignore_index")};
  }

  std::vector<State> states() const {
    return {{"right", TENON_INT64}, {"predictions", TENON_INT64}, {"targets", TENON_INT64},
            {"total", TENON_INT64}, {"undefined", TENON_INT64},   {"outside", TENON_INT64}};
  }

  std::vector<MetricValue> values() const {
    std::vector<MetricValue> values;
    PrecisionRecall::name(values, "binary_", "", ", of the positive class, in [0, 1]");
    return values;
  }

  void update(const Frame& frame, const Inputs& inputs) const {
    const Tensor logits = inputs[0];
    const Tensor target = inputs[1];
    const Tensor counted = ne(target, ignore_index_);
    const Tensor predicted = logical_and(exceeds(logits, threshold_), counted);
    const Tensor ones = logical_and(gt(target, 0.5), counted);
    frame.tensor(kRight) += sum(logical_and(predicted, ones));
    frame.tensor(kPredictions) += sum(predicted);
    frame.tensor(kTargets) += sum(ones);
    frame.tensor(kTotal) += sum(counted);
    frame.tensor(kUndefined) += sum(logical_and(logical_or(ne(logits, logits), ne(target, target)), counted));
    frame.tensor(kOutside) += count_outside(target, 0, 1, counted);
  }

  std::vector<double> compute(const Frame& frame) const {
    refuse_outside(frame.tensor(kOutside),
                   "numbers in [0, 1], or ignore_index (" + std::to_string(ignore_index_) + ")");
    if (frame.tensor(kUndefined).number() > 0 || frame.tensor(kTotal).number() == 0) return {kNone, kNone, kNone};
    std::vector<double> values;
    PrecisionRecall(frame.tensor(kRight).number(), frame.tensor(kPredictions).number(), frame.tensor(kTargets).number())
        .append_to(values);
    return values;
  }

 private:
  enum : uint64_t { kRight, kPredictions, kTargets, kTotal, kUndefined, kOutside };

  double threshold_;
  int64_t ignore_index_;
};

}  // namespace tenon::metrics
