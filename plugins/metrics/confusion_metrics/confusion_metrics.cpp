// Metrics that are computed from the confusion matrix of predicted classes.
#include <cmath>

#include "plugins/metrics/predictions.h"

namespace tenon::metrics {
namespace {

// Counts, indexed by target and prediction.
class Confusion final {
 public:
  Confusion(const int64_t* counts, int64_t classes) : counts_(counts), classes_(classes) {}

  int64_t classes() const { return classes_; }
  int64_t count(int64_t target, int64_t predicted) const { return counts_[target * classes_ + predicted]; }
  int64_t right(int64_t of) const { return count(of, of); }
  int64_t targets(int64_t of) const {
    int64_t sum = 0;
    for (int64_t other = 0; other < classes_; ++other) sum += count(of, other);
    return sum;
  }
  int64_t predictions(int64_t of) const {
    int64_t sum = 0;
    for (int64_t other = 0; other < classes_; ++other) sum += count(other, of);
    return sum;
  }
  int64_t all() const {
    int64_t sum = 0;
    for (int64_t of = 0; of < classes_; ++of) sum += targets(of);
    return sum;
  }

 private:
  const int64_t* counts_;
  int64_t classes_;
};

class ConfusionCounts {
 public:
  std::vector<Port> ports() const {
    return {input("logits", "N," + std::to_string(classes_) + ",...S", TENON_ANY_FLOAT, "scores of the classes"),
            input("target", "N,...S", kInt64, "class in [0, classes), or ignore_index")};
  }

  std::vector<State> states() const {
    return {{"confusion", TENON_INT64, {classes_, classes_}}, {"undefined", TENON_INT64}};
  }

  void update(const Frame& frame, const Inputs& inputs) const {
    static const Op kMaskedSelect("aten::masked_select");
    const Tensor target = inputs[1];
    const Tensor counted = ne(target, ignore_index_);
    // Clamped, because the product of another target could overflow to a valid cell.
    const Tensor cells = clamp(target, -1, classes_) * classes_ + argmax(inputs[0], 1);
    const Tensor counts = count_cells(frame, frame.call(kMaskedSelect, {cells, counted}));
    if (!counts) throw_outside(frame.call(kMaskedSelect, {target, counted}));
    frame.tensor(kConfusion) += reshape(counts, {classes_, classes_});
    frame.tensor(kUndefined) += count_undefined(inputs[0], 1, counted);
  }

 protected:
  static Param classes_param(const char* range) {
    return param("classes", 2).range(range).counts_classes().doc("number of classes; if left out, that of the data");
  }

  explicit ConfusionCounts(const Params& params)
      : classes_(params.integer("classes")), ignore_index_(params.integer("ignore_index")) {}

  int64_t classes() const { return classes_; }
  int64_t ignore_index() const { return ignore_index_; }

  // Whether a score was NaN. The metrics are then NaN.
  static bool is_undefined(const Frame& frame) { return frame.tensor(kUndefined).number() > 0; }
  Confusion read(const Frame& frame) const { return {frame.tensor(kConfusion).data<int64_t>(), classes_}; }

 private:
  enum : uint64_t { kConfusion, kUndefined };

  // A number that is too large for int64 as a double becomes the largest int64.
  static int64_t read_integer(const Tensor& scalar) {
    const double number = scalar.number();
    return number < 0x1p63 ? static_cast<int64_t>(number) : std::numeric_limits<int64_t>::max();
  }

  // Null if a target is outside of the classes.
  Tensor count_cells(const Frame& frame, const Tensor& cells) const {
    static const Op kBincount("aten::bincount");
    const int64_t cell_count = classes_ * classes_;
    try {
      const Tensor counts = frame.call(kBincount, {cells, {}, cell_count});
      return counts.numel() == cell_count ? counts : Tensor();
    } catch (const HostError&) {  // a cell is negative
      return {};
    }
  }

  [[noreturn]] void throw_outside(const Tensor& targets) const {
    const int64_t least = read_integer(amin(targets, {0}));
    throw outside_classes(least < 0 ? least : read_integer(amax(targets, {0})), classes_, ignore_index_);
  }

  int64_t classes_;
  int64_t ignore_index_;
};

// The confusion matrix, as in torchmetrics' MulticlassConfusionMatrix: rows are targets, columns are predictions.
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

// Overlap of the targets and predictions of each class.
//   iou: intersection over union, the Jaccard index: Jaccard, "The Distribution of the Flora in the Alpine Zone", New
//        Phytologist 11, 1912; the mean over classes is that of torchmetrics' MulticlassJaccardIndex
//   dice_score: twice the intersection over the sum of both sizes: Dice, "Measures of the Amount of Ecologic
//        Association Between Species", Ecology 26, 1945; as torchmetrics' DiceScore over all samples at once
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

// Precision, recall and F1 (van Rijsbergen, "Information Retrieval", 1979), as in torchmetrics' MulticlassPrecision,
// BinaryPrecision and so on. A division by zero gives 0.
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
    PrecisionRecall averaged;
    if (average_ == "micro") {
      averaged = PrecisionRecall(right, all, all);
    } else {
      averaged.add(mean, 1 / total);
    }
    values.insert(values.begin(), {averaged.precision, averaged.recall, averaged.f1});
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

}  // namespace
}  // namespace tenon::metrics

using namespace tenon::metrics;

TENON_PLUGIN("confusion_metrics", "0.1.0", "Apache-2.0",
             "Confusion matrix, precision, recall, F1 and overlap of predicted classes.",
             tenon::metric<ClassOverlap<IntersectionOverUnion>>(
                 "iou", "intersection over union of targets and predicted classes, mean over classes"),
             tenon::metric<ClassOverlap<DiceCoefficient>>(
                 "dice_score", "Dice coefficient of targets and predicted classes, mean over classes"),
             tenon::metric<PrecisionRecallF1>("precision_recall_f1", "precision, recall and F1 of predicted classes"),
             tenon::metric<BinaryPrecisionRecallF1>("binary_precision_recall_f1",
                                                    "precision, recall and F1 of binary predictions"),
             tenon::metric<ConfusionMatrix>("confusion_matrix", "confusion matrix of targets and predicted classes"),
             tenon::operators({"aten::bincount", "aten::masked_select"}))
