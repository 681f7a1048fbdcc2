#include "framework/pipeline/generation/token_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::pipeline {

namespace {

// Returns the ids of the tokens, the likeliest first.
std::vector<size_t> rank_tokens(std::span<const double> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t token) { return scores[token]; });
  return order;
}

void normalise(std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
}

// Sets all weights but those of the first `count` tokens of `order` to 0.
void keep_first(std::vector<double>& weights, const std::vector<size_t>& order, size_t count) {
  for (size_t i = count; i < order.size(); ++i) weights[order[i]] = 0;
}

}  // namespace

std::vector<double> log_probabilities(std::span<const double> scores) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  std::vector<double> logs;
  for (const double score : scores) logs.push_back(score - largest - std::log(sum));
  return logs;
}

std::vector<double> sampling_probabilities(std::span<const double> scores, const Sampling& sampling) {
  TENON_CHECK(sampling.temperature > 0 && sampling.top_p > 0, sampling.temperature << ", " << sampling.top_p);
  const double largest = *std::ranges::max_element(scores);
  std::vector<double> weights;
  for (const double score : scores) weights.push_back(std::exp((score - largest) / sampling.temperature));
  const auto count = static_cast<size_t>(sampling.top_k);
  if ((count == 0 || count >= weights.size()) && sampling.top_p >= 1) {
    normalise(weights);
    return weights;
  }
  const std::vector<size_t> order = rank_tokens(scores);
  if (count > 0) keep_first(weights, order, count);
  normalise(weights);
  if (sampling.top_p < 1) {
    double sum = 0;
    size_t kept = 0;
    while (kept < order.size() && sum < sampling.top_p) sum += weights[order[kept++]];
    keep_first(weights, order, kept);
    normalise(weights);
  }
  return weights;
}

int64_t pick(std::span<const double> probabilities, double uniform) {
  double sum = 0;
  size_t last = 0;
  for (size_t token = 0; token < probabilities.size(); ++token) {
    if (probabilities[token] == 0) continue;
    last = token;
    sum += probabilities[token];
    if (sum > uniform) break;
  }
  // Rounding may leave the sum of all probabilities below `uniform`.
  return static_cast<int64_t>(last);
}

int64_t likeliest(std::span<const double> scores) { return std::ranges::max_element(scores) - scores.begin(); }

double draw_uniform(uint64_t seed, int64_t prompt, int64_t sample, int64_t position) {
  const uint64_t bits = support::derive_seed(seed, support::StreamPurpose::generation, static_cast<uint32_t>(sample),
                                             static_cast<uint64_t>(prompt) << 32 | static_cast<uint64_t>(position));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace tenon::pipeline
