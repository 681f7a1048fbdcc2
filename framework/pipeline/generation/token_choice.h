// The choice of the next token from a model's scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::pipeline {

// How tokens are sampled. The filters apply in this order, as in Hugging Face's generate().
struct Sampling {
  double temperature = 1;  // above 0; divides the scores
  int64_t top_k = 0;       // keeps the k largest scores, of equal ones those of lower ids; 0: all
  // Keeps the likeliest tokens, as many as reach a total probability of top_p, at least one: A. Holtzman et al.,
  // arXiv:1904.09751. 1: all.
  double top_p = 1;
};

// Returns log(softmax(scores)).
std::vector<double> log_probabilities(std::span<const double> scores);

// Returns softmax(scores / temperature) over the tokens that the filters keep, and 0 for the others.
std::vector<double> sampling_probabilities(std::span<const double> scores, const Sampling& sampling);

// Inverse transform sampling: returns the first token up to which the probabilities sum to more than
// `uniform`, in [0, 1).
int64_t pick(std::span<const double> probabilities, double uniform);

// Returns the token with the largest score, of equal ones that with the lowest id.
int64_t likeliest(std::span<const double> scores);

// Returns a number in [0, 1) for (seed, prompt, sample, position): 53 bits of the Philox stream
// StreamPurpose::generation. It does not depend on other prompts and samples. sample, position < 2^32.
double draw_uniform(uint64_t seed, int64_t prompt, int64_t sample, int64_t position);

}  // namespace tenon::pipeline
