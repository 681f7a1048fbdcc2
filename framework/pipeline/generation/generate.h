// Generation of sequences: greedy decoding, sampling and beam search.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "framework/pipeline/generation/continued_sequences.h"
#include "framework/pipeline/generation/token_choice.h"

namespace tenon::pipeline {

enum class EndOfSequence {
  end_token,  // the end token was generated
  length,     // the maximum number of tokens was reached
  stopped     // the caller stopped it
};

struct GeneratedSequence {
  std::vector<int64_t> tokens;  // without the end token
  double log_probability = 0;   // of the tokens and of the end token, by the model: without temperature and filters
  double score = 0;             // of a beam search; otherwise log_probability
  EndOfSequence end = EndOfSequence::length;
};

struct GenerationLimits {
  int64_t max_new_tokens;
  int64_t end_token = -1;  // ends a sequence; -1: none
};

// Called after each step with the new token of the first sequence, or nothing if it has ended. Returns whether to
// continue.
using AfterToken = std::function<bool(std::optional<int64_t> token)>;

// Appends the likeliest token repeatedly.
GeneratedSequence generate_greedily(ContinuedSequences sequences, const GenerationLimits& limits,
                                    const AfterToken& after_token);

// Continues the prompt `samples` times. A sample's random numbers depend only on seed, prompt, sample and position, see
// draw_uniform(). `prompt`: the number of the prompt.
std::vector<GeneratedSequence> sample_sequences(ContinuedSequences sequences, const GenerationLimits& limits,
                                                const Sampling& sampling, uint64_t seed, int64_t prompt,
                                                int64_t samples, const AfterToken& after_token);

struct BeamSearch {
  int64_t beams;
  double length_penalty = 1;
};

// Beam search. The score of a sequence is its log probability divided by length ^ length_penalty, as in Hugging Face's
// generate(); the length counts the generated tokens and the end token. Each step considers the 2 * beams best
// continuations of the running sequences. Those of the first `beams` that end are kept if they are among the best
// `beams` that ended so far; the best `beams` that do not end are continued. The search ends when no running sequence
// can reach a better score (early_stopping="never" of Hugging Face). Returns the best sequences, the best first, at
// most `beams`.
std::vector<GeneratedSequence> search_beams(ContinuedSequences sequences, const GenerationLimits& limits,
                                            const BeamSearch& search, const std::function<bool()>& should_continue);

}  // namespace tenon::pipeline
