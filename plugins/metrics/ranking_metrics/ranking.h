// Metrics of how well scores rank positive samples above negative ones, over all samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace tenon::metrics {

struct ScoredSample {
  float score;
  bool positive;
};

// Whether ranking is defined: there is a positive and a negative sample, and no score is NaN.
inline bool can_rank(const std::vector<ScoredSample>& samples) {
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
inline double roc_auc(std::vector<ScoredSample>& samples) {
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
inline double average_precision(std::vector<ScoredSample>& samples) {
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

}  // namespace tenon::metrics
