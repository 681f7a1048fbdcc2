#include "framework/pipeline/generation/generate.h"

#include <numeric>

#include "framework/support/diagnostics/check.h"

namespace tenon::pipeline {

namespace {

// Returns the token of a sequence: choose(scores, row). Rows keep the index of their sample when others have ended.
template <class Choose>
std::vector<GeneratedSequence> continue_sequences(ContinuedSequences sequences, const GenerationLimits& limits,
                                                  int64_t count, const AfterToken& after_token, Choose&& choose) {
  TENON_CHECK(limits.max_new_tokens > 0 && count > 0, limits.max_new_tokens << " tokens, " << count << " samples");
  std::vector<GeneratedSequence> generated(static_cast<size_t>(count));
  sequences.select(std::vector<int64_t>(generated.size(), 0));
  std::vector<int64_t> running(generated.size());  // the samples of the rows
  std::iota(running.begin(), running.end(), int64_t{0});
  for (int64_t position = 0; position < limits.max_new_tokens; ++position) {
    const std::vector<std::span<const double>> scores = sequences.scores();
    std::vector<int64_t> rows, tokens, still_running;
    std::optional<int64_t> of_first;
    for (size_t row = 0; row < running.size(); ++row) {
      GeneratedSequence& sequence = generated[static_cast<size_t>(running[row])];
      const int64_t token = choose(scores[row], running[row], position);
      sequence.log_probability += log_probabilities(scores[row])[static_cast<size_t>(token)];
      sequence.score = sequence.log_probability;
      if (token == limits.end_token) {
        sequence.end = EndOfSequence::end_token;
        continue;
      }
      if (running[row] == 0) of_first = token;
      sequence.tokens.push_back(token);
      rows.push_back(static_cast<int64_t>(row));
      tokens.push_back(token);
      still_running.push_back(running[row]);
    }
    const bool should_continue = after_token(of_first);
    if (!should_continue)
      for (const int64_t sample : still_running) generated[static_cast<size_t>(sample)].end = EndOfSequence::stopped;
    if (!should_continue || still_running.empty() || position + 1 == limits.max_new_tokens) break;
    if (rows.size() < running.size()) sequences.select(rows);
    running = std::move(still_running);
    sequences.append(tokens);
  }
  return generated;
}

}  // namespace

GeneratedSequence generate_greedily(ContinuedSequences sequences, const GenerationLimits& limits,
                                    const AfterToken& after_token) {
  const auto choose = [](std::span<const double> scores, int64_t, int64_t) { return likeliest(scores); };
  return continue_sequences(std::move(sequences), limits, 1, after_token, choose).front();
}

std::vector<GeneratedSequence> sample_sequences(ContinuedSequences sequences, const GenerationLimits& limits,
                                                const Sampling& sampling, uint64_t seed, int64_t prompt,
                                                int64_t samples, const AfterToken& after_token) {
  const auto choose = [&](std::span<const double> scores, int64_t sample, int64_t position) {
    return pick(sampling_probabilities(scores, sampling), draw_uniform(seed, prompt, sample, position));
  };
  return continue_sequences(std::move(sequences), limits, samples, after_token, choose);
}

}  // namespace tenon::pipeline
