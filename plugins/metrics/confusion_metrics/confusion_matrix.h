// The confusion matrix, as in torchmetrics' MulticlassConfusionMatrix: rows are targets, columns are predictions.
#pragma once

#include "plugins/metrics/confusion_metrics/confusion_counts.h"

namespace tenon::metrics {

class ConfusionMatrix final : public ConfusionCounts {
 public:
  static std::vector<Param> schema() {
    return {classes_param("[2, 64]"),
            param("ignore_index", -100).range("[-1e9, 1e9]").doc("target value that is ignored"),
            param("normalize", "none")
                .choices({"none", "targets", "predictions", "all"})
                .doc("none: counts; otherwise fractions of the targets of the class, of its predictions, or of all "
                     "samples")};
  }

  explicit ConfusionMatrix(const Params& params) : ConfusionCounts(params), normalize_(params.text("normalize")) {}

  std::vector<MetricValue> values() const {
    const std::string unit = normalize_ == "none" ? "number" : "share of " + normalize_;
    std::vector<MetricValue> values;
    for (int64_t target = 0; target < classes(); ++target) {
      for (int64_t predicted = 0; predicted < classes(); ++predicted) {
        const std::string name = "confusion_" + std::to_string(target) + "_" + std::to_string(predicted);
        const std::string doc = unit + ": of the first class, and predicted as the second";
        values.push_back(target == predicted ? higher_is_better(name, doc) : lower_is_better(name, doc));
      }
    }
    return values;
  }

  std::vector<double> compute(const Frame& frame) const {
    const Confusion confusion = read(frame);
    const bool undefined = is_undefined(frame) || confusion.all() == 0;
    std::vector<double> values;
    for (int64_t target = 0; target < classes(); ++target) {
      for (int64_t predicted = 0; predicted < classes(); ++predicted) {
        const auto count = static_cast<double>(confusion.count(target, predicted));
        const double whole = whole_of(confusion, target, predicted);
        values.push_back(undefined ? kNone : whole > 0 ? count / whole : 0);
      }
    }
    return values;
  }

 private:
  double whole_of(const Confusion& confusion, int64_t target, int64_t predicted) const {
    if (normalize_ == "targets") return static_cast<double>(confusion.targets(target));
    if (normalize_ == "predictions") return static_cast<double>(confusion.predictions(predicted));
    return normalize_ == "all" ? static_cast<double>(confusion.all()) : 1;
  }

  std::string normalize_;
};

}  // namespace tenon::metrics
