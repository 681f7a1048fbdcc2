// Exact areas under curves: how well scores rank positive samples above negative ones. All scores are kept until the
// metric is computed: 4 bytes for each class of each sample, and 8 for its target.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "plugins/metrics/predictions.h"

namespace {

using tenon::Tensor;

struct ScoredSample {
  float score;
  bool positive;
};

// Whether ranking is defined: there is a positive and a negative sample, and no score is NaN.
bool can_rank(const std::vector<ScoredSample>& samples) {
  size_t positives = 0;
  for (const ScoredSample& sample : samples) {
    if (std::isnan(sample.score)) return false;
    positives += sample.positive;
  }
  return positives > 0 && positives < samples.size();
}

// Calls `visit(positives, negatives)` for each distinct score in descending order, with the numbers of samples that
// have this score.
template <class Visit>
void visit_ties(std::vector<ScoredSample>& samples, Visit&& visit) {
  std::sort(samples.begin(), samples.end(),
            [](const ScoredSample& left, const ScoredSample& right) { return left.score > right.score; });
  for (size_t i = 0; i < samples.size();) {
    const float score = samples[i].score;
    double counts[2] = {0, 0};
    for (; i < samples.size() && samples[i].score == score; ++i) ++counts[samples[i].positive];
    visit(counts[true], counts[false]);
  }
}

// The probability that a positive sample has a higher score than a negative one, where ties count half: Hanley, McNeil,
// "The Meaning and Use of the Area under a Receiver Operating Characteristic (ROC) Curve", Radiology 143, 1982. As in
// scikit-learn's roc_auc_score. NaN if ranking is not defined.
double roc_auc(std::vector<ScoredSample>& samples) {
  if (!can_rank(samples)) return std::numeric_limits<double>::quiet_NaN();
  double positives = 0, negatives = 0, pairs = 0;
  visit_ties(samples, [&](double more_positives, double more_negatives) {
    pairs += more_negatives * (positives + more_positives / 2);
    positives += more_positives;
    negatives += more_negatives;
  });
  return pairs / (positives * negatives);
}

// The mean over positive samples of the precision among all samples with at least their score, as in scikit-learn's
// average_precision_score. It is a sum of steps, not the area under interpolated lines. It is defined without negative
// samples, and NaN without positive ones.
double average_precision(std::vector<ScoredSample>& samples) {
  double positives = 0, seen = 0, sum = 0;
  for (const ScoredSample& sample : samples)
    if (std::isnan(sample.score)) return std::numeric_limits<double>::quiet_NaN();
  visit_ties(samples, [&](double more_positives, double more_negatives) {
    positives += more_positives;
    seen += more_positives + more_negatives;
    sum += more_positives * (positives / seen);
  });
  return positives > 0 ? sum / positives : std::numeric_limits<double>::quiet_NaN();
}

tenon::Param ignore_index_param() {
  return tenon::param("ignore_index", -100).range("[-1e9, 1e9]").doc("target value that is ignored");
}

struct RocAuc {
  static constexpr const char* kName = "roc_auc";
  static constexpr const char* kDoc =
      "probability that a sample of the class has a higher score than another sample, in [0, 1]";
  static double value(std::vector<ScoredSample>& samples) { return roc_auc(samples); }
};

struct AveragePrecision {
  static constexpr const char* kName = "average_precision";
  static constexpr const char* kDoc = "area under the precision-recall curve, in [0, 1]";
  static double value(std::vector<ScoredSample>& samples) { return average_precision(samples); }
};

template <class Kind>
class BinaryRanking final {
 public:
  static std::vector<tenon::Param> schema() { return {ignore_index_param()}; }

  explicit BinaryRanking(const tenon::Params& params) : ignore_index_(params.integer("ignore_index")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,...S", TENON_ANY_FLOAT, "log-odds of the target being 1, or any other score"),
            tenon::input("target", "N,...S", tenon::metrics::kBinaryTargets,
                         "0 or 1; a probability above 0.5 counts as 1; or ignore_index")};
  }

  std::vector<tenon::State> states() const {
    return {tenon::rows("scores", TENON_FLOAT32), tenon::rows("targets", TENON_FLOAT64)};
  }

  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better(std::string("binary_") + Kind::kName, Kind::kDoc)};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    frame.append(kScores, tenon::flatten(tenon::to_dtype(inputs[0], TENON_FLOAT32)));
    frame.append(kTargets, tenon::flatten(tenon::to_dtype(inputs[1], TENON_FLOAT64)));
  }

  double compute(const tenon::Frame& frame) const {
    const Tensor scores = frame.tensor(kScores);
    const Tensor targets = frame.tensor(kTargets);
    const double* const target = targets.data<double>();
    std::vector<ScoredSample> samples;
    for (int64_t i = 0; i < targets.numel(); ++i) {
      if (target[i] == static_cast<double>(ignore_index_)) continue;
      if (!(target[i] >= 0 && target[i] <= 1)) {
        throw tenon::DataError("a target is " + tenon::detail::number_text(target[i]) +
                               "; expected a number in [0, 1], or ignore_index (" + std::to_string(ignore_index_) +
                               ")");
      }
      samples.push_back({scores.data<float>()[i], target[i] > 0.5});
    }
    return Kind::value(samples);
  }

 private:
  enum : uint64_t { kScores, kTargets };

  int64_t ignore_index_;
};

// [N, C] log-odds of the softmax probabilities: log(p / (1 - p)). They have the same order as the probabilities, which
// near 1 are too coarse to distinguish confident predictions.
Tensor log_odds(const Tensor& logits) {
  const Tensor shifted = logits - tenon::amax(logits, {1}, /*keep_dims=*/true);
  const Tensor largest = tenon::eq(tenon::one_hot(tenon::argmax(logits, 1), logits.shape()[1]), 1);
  // 1 - p is a sum over the other classes. Subtracting from the sum over all classes is exact enough unless the class
  // itself is the largest.
  const Tensor others = tenon::masked_fill(tenon::exp(shifted), largest, 0);
  const Tensor sum = tenon::sum(others, {1}, /*keep_dims=*/true);
  return shifted - tenon::log(tenon::where(largest, sum, 1 + (sum - others)));
}

// One-vs-rest ranking of each class by its softmax probabilities.
template <class Kind>
class ClassRanking final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("classes", 2)
                .range("[2, 4096]")
                .counts_classes()
                .doc("number of classes; if left out, that of the data"),
            ignore_index_param(),
            tenon::param("per_class", false)
                .doc(std::string("also report one value per class: ") + Kind::kName + "_0, " + Kind::kName +
                     "_1 and so on")};
  }

  explicit ClassRanking(const tenon::Params& params)
      : classes_(params.integer("classes")),
        ignore_index_(params.integer("ignore_index")),
        per_class_(params.boolean("per_class")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N," + std::to_string(classes_) + ",...S", TENON_ANY_FLOAT,
                         "unnormalised log-probabilities of the classes"),
            tenon::input("target", "N,...S", tenon::metrics::kInt64, "class in [0, classes), or ignore_index")};
  }

  std::vector<tenon::State> states() const {
    return {tenon::rows("scores", TENON_FLOAT32, {classes_}), tenon::rows("targets", TENON_INT64)};
  }

  std::vector<tenon::MetricValue> values() const {
    std::vector<tenon::MetricValue> values = {tenon::higher_is_better(
        Kind::kName, std::string(Kind::kDoc) + "; one-vs-rest, mean over the classes that have a value")};
    for (int64_t i = 0; per_class_ && i < classes_; ++i) {
      values.push_back(tenon::higher_is_better(std::string(Kind::kName) + "_" + std::to_string(i),
                                               "of this class; NaN if it is undefined"));
    }
    return values;
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    // Uses double precision, so that rounding neither creates nor removes ties.
    const Tensor logits = tenon::to_dtype(tenon::metrics::to_rows(inputs[0]), TENON_FLOAT64);
    frame.append(kScores, tenon::to_dtype(log_odds(logits), TENON_FLOAT32));
    frame.append(kTargets, tenon::flatten(inputs[1]));
  }

  std::vector<double> compute(const tenon::Frame& frame) const {
    const Tensor scores = frame.tensor(kScores);
    const Tensor targets = frame.tensor(kTargets);
    const std::vector<int64_t> counted = find_counted(targets.data<int64_t>(), targets.numel());
    double sum = 0;
    double present = 0;
    std::vector<double> values(1);
    for (int64_t of = 0; of < classes_; ++of) {
      std::vector<ScoredSample> samples;
      for (const int64_t row : counted)
        samples.push_back({scores.data<float>()[row * classes_ + of], targets.data<int64_t>()[row] == of});
      const double value = Kind::value(samples);
      if (value == value) {
        sum += value;
        ++present;
      }
      if (per_class_) values.push_back(value);
    }
    values[0] = tenon::metrics::share(sum, present);
    return values;
  }

 private:
  enum : uint64_t { kScores, kTargets };

  std::vector<int64_t> find_counted(const int64_t* targets, int64_t count) const {
    std::vector<int64_t> counted;
    for (int64_t i = 0; i < count; ++i) {
      if (targets[i] == ignore_index_) continue;
      if (targets[i] < 0 || targets[i] >= classes_) {
        throw tenon::metrics::outside_classes(targets[i], classes_, ignore_index_);
      }
      counted.push_back(i);
    }
    return counted;
  }

  int64_t classes_;
  int64_t ignore_index_;
  bool per_class_;
};

}  // namespace

TENON_PLUGIN("ranking_metrics", "0.1.0", "Apache-2.0", "Areas under ROC and precision-recall curves.",
             tenon::metric<ClassRanking<RocAuc>>("roc_auc",
                                                 "area under the ROC curve of each class, mean over classes"),
             tenon::metric<BinaryRanking<RocAuc>>("binary_roc_auc", "area under the ROC curve of binary predictions"),
             tenon::metric<ClassRanking<AveragePrecision>>("average_precision",
                                                           "average precision of each class, mean over classes"),
             tenon::metric<BinaryRanking<AveragePrecision>>("binary_average_precision",
                                                            "average precision of binary predictions"))
