#include <algorithm>
#include <cmath>

#include "framework/pipeline/generation/generate.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::pipeline {

namespace {

// A continuation of a running sequence by one token.
struct Candidate {
  double log_probability;
  size_t row;
  int64_t token;
};

double score_of(double log_probability, size_t length, double length_penalty) {
  return log_probability / std::pow(static_cast<double>(length), length_penalty);
}

// Returns the best `count` continuations, the best first; of equal ones that of the lower row and token.
std::vector<Candidate> find_candidates(const std::vector<std::span<const double>>& scores,
                                       const std::vector<GeneratedSequence>& running, size_t count) {
  std::vector<Candidate> candidates;
  for (size_t row = 0; row < running.size(); ++row) {
    const std::vector<double> logs = log_probabilities(scores[row]);
    for (size_t token = 0; token < logs.size(); ++token)
      if (std::isfinite(logs[token]))
        candidates.push_back({running[row].log_probability + logs[token], row, static_cast<int64_t>(token)});
  }
  count = std::min(count, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count), candidates.end(),
                    [](const Candidate& left, const Candidate& right) {
                      if (left.log_probability != right.log_probability)
                        return left.log_probability > right.log_probability;
                      return std::pair(left.row, left.token) < std::pair(right.row, right.token);
                    });
  candidates.resize(count);
  return candidates;
}

// Inserts a sequence that ended, and keeps the best `count`.
void keep_best(std::vector<GeneratedSequence>& ended, GeneratedSequence sequence, size_t count) {
  const auto worse =
      std::ranges::find_if(ended, [&](const GeneratedSequence& other) { return other.score < sequence.score; });
  ended.insert(worse, std::move(sequence));
  if (ended.size() > count) ended.pop_back();
}

// The largest score that a continuation of a running sequence can reach: its log probability only falls. A positive
// penalty favours the longest sequences, any other the shortest.
double best_reachable(double log_probability, size_t length, const GenerationLimits& limits, double length_penalty) {
  const auto longest = static_cast<size_t>(limits.max_new_tokens);
  return score_of(log_probability, length_penalty > 0 ? longest : length + 1, length_penalty);
}

}  // namespace

std::vector<GeneratedSequence> search_beams(ContinuedSequences sequences, const GenerationLimits& limits,
                                            const BeamSearch& search, const std::function<bool()>& should_continue) {
  TENON_CHECK(search.beams > 0 && limits.max_new_tokens > 0, search.beams << " beams");
  const auto beams = static_cast<size_t>(search.beams);
  std::vector<GeneratedSequence> running(1), ended;
  for (size_t length = 1;; ++length) {
    const std::vector<Candidate> candidates = find_candidates(sequences.scores(), running, 2 * beams);
    std::vector<GeneratedSequence> continued;
    std::vector<int64_t> rows, tokens;
    for (size_t i = 0; i < candidates.size() && continued.size() < beams; ++i) {
      const Candidate& candidate = candidates[i];
      GeneratedSequence sequence = running[candidate.row];
      sequence.log_probability = candidate.log_probability;
      sequence.score = score_of(candidate.log_probability, length, search.length_penalty);
      if (candidate.token == limits.end_token) {
        sequence.end = EndOfSequence::end_token;
        if (i < beams) keep_best(ended, std::move(sequence), beams);
        continue;
      }
      sequence.tokens.push_back(candidate.token);
      continued.push_back(std::move(sequence));
      rows.push_back(static_cast<int64_t>(candidate.row));
      tokens.push_back(candidate.token);
    }
    running = std::move(continued);
    const bool is_stopped = !should_continue();
    if (is_stopped || running.empty() || length == static_cast<size_t>(limits.max_new_tokens)) {
      for (GeneratedSequence& sequence : running) {
        sequence.end = is_stopped ? EndOfSequence::stopped : EndOfSequence::length;
        keep_best(ended, std::move(sequence), beams);
      }
      return ended;
    }
    if (ended.size() == beams &&
        ended.back().score >= best_reachable(running.front().log_probability, length, limits, search.length_penalty))
      return ended;
    sequences.select(rows);
    sequences.append(tokens);
  }
}

}  // namespace tenon::pipeline
