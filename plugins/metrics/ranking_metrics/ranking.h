// Figures of how well scores put positive samples before negative ones, over all samples at once.
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

// Whether there is something to rank: a positive sample and a negative one, and no score that is NaN.
inline bool can_rank(const std::vector<ScoredSample>& samples) {
  size_t positives = 0;
  for (const ScoredSample& sample : samples) {
    if (std::isnan(sample.score)) return false;
    positives += sample.positive;
  }
  return positives > 0 && positives < samples.size();
}

// Calls `visit(positives, negatives)` for each score, from the largest on, with how many samples have just that one.
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

// The probability that a positive sample has a larger score than a negative one, ties counting half: Hanley, McNeil,
// "The Meaning and Use of the Area under a Receiver Operating Characteristic (ROC) Curve", Radiology 143, 1982. As
// scikit-learn's roc_auc_score; NaN where there is nothing to rank.
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

// The mean over positive samples of the precision among all samples whose score is as large, as scikit-learn's
// average_precision_score: a sum of steps, and not the area under lines between them. Defined without negative samples;
// NaN without positive ones.
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
