// Overlap of the targets and predictions of each class.
//   iou: intersection over union, the Jaccard index: Jaccard, "The Distribution of the Flora in the Alpine Zone", New
//        Phytologist 11, 1912; the mean over classes is that of torchmetrics' MulticlassJaccardIndex
//   dice_score: twice the intersection over the sum of both sizes: Dice, "Measures of the Amount of Ecologic
//        Association Between Species", Ecology 26, 1945; as torchmetrics' DiceScore over all samples at once
#pragma once

#include "plugins/metrics/confusion_metrics/confusion_counts.h"

namespace tenon::metrics {

struct IntersectionOverUnion {
  static constexpr const char* kName = "iou";
  static constexpr const char* kDoc =
      "intersection over union, in [0, 1]; mean over the classes that occur in the targets or predictions";
  static double value(double both, double sizes) { return share(both, sizes - both); }
};

struct DiceCoefficient {
  static constexpr const char* kName = "dice_score";
  static constexpr const char* kDoc =
      "2 intersection / (targets + predictions), in [0, 1]; mean over the classes that occur in either";
  static double value(double both, double sizes) { return share(2 * both, sizes); }
};

template <class Kind>
class ClassOverlap final : public ConfusionCounts {
 public:
  static std::vector<Param> schema() {
    return {classes_param("[2, 4096]"),
            param("ignore_index", -100)
                .range("[-1e9, 1e9]")
                .doc("target value that is ignored together with the prediction there; the mean excludes a class with "
                     "this index"),
            param("per_class", true)
                .doc(std::string("also report one value per class: ") + Kind::kName + "_0, " + Kind::kName +
                     "_1 and so on")};
  }

  explicit ClassOverlap(const Params& params) : ConfusionCounts(params), per_class_(params.boolean("per_class")) {}

  std::vector<MetricValue> values() const {
    std::vector<MetricValue> values = {higher_is_better(Kind::kName, Kind::kDoc)};
    for (int64_t i = 0; per_class_ && i < classes(); ++i) {
      values.push_back(higher_is_better(std::string(Kind::kName) + "_" + std::to_string(i),
                                        "of this class; NaN if it occurs in neither"));
    }
    return values;
  }

  std::vector<double> compute(const Frame& frame) const {
    const Confusion confusion = read(frame);
    const bool undefined = is_undefined(frame);
    double sum = 0;
    double present = 0;
    std::vector<double> values(1);
    for (int64_t i = 0; i < classes(); ++i) {
      const auto sizes = static_cast<double>(confusion.targets(i) + confusion.predictions(i));
      const bool counts = sizes > 0 && i != ignore_index() && !undefined;
      const double value = counts ? Kind::value(static_cast<double>(confusion.right(i)), sizes) : kNone;
      if (counts) sum += value;
      present += counts;
      if (per_class_) values.push_back(value);
    }
    values[0] = share(sum, present);
    return values;
  }

 private:
  bool per_class_;
};

}  // namespace tenon::metrics
