// Overlap of two token sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace tenon::metrics {

using Tokens = std::vector<int64_t>;

// Counts the n-grams of the sequence.
inline std::map<Tokens, int64_t> count_ngrams(const Tokens& tokens, size_t n) {
  std::map<Tokens, int64_t> counts;
  for (size_t i = 0; i + n <= tokens.size(); ++i) {
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(i);
    ++counts[Tokens(first, first + static_cast<std::ptrdiff_t>(n))];
  }
  return counts;
}

// Counts the n-grams of `predicted` that are in `target`, each at most as often as in `target`.
inline int64_t count_common_ngrams(const Tokens& predicted, const Tokens& target, size_t n) {
  const std::map<Tokens, int64_t> expected = count_ngrams(target, n);
  int64_t common = 0;
  for (const auto& [ngram, count] : count_ngrams(predicted, n)) {
    const auto found = expected.find(ngram);
    if (found != expected.end()) common += std::min(count, found->second);
  }
  return common;
}

// Returns the length of the longest common subsequence.
inline int64_t longest_common(const Tokens& left, const Tokens& right) {
  // lengths for the processed part of `left` and each prefix of `right`
  std::vector<int64_t> lengths(right.size() + 1, 0);
  for (const int64_t token : left) {
    int64_t diagonal = 0;
    for (size_t i = 0; i < right.size(); ++i) {
      const int64_t above = lengths[i + 1];
      lengths[i + 1] = token == right[i] ? diagonal + 1 : std::max(above, lengths[i]);
      diagonal = above;
    }
  }
  return lengths.back();
}

}  // namespace tenon::metrics
