// Sequences of equal length that a model continues, one token for each of them at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/build/evaluation.h"

namespace tenon::pipeline {

// How a model takes part in generation.
struct TokenPorts {
  components::Decoding decoding;  // cache_count is 0 for a model without the extension: it reads all tokens again
  std::optional<size_t> source;   // index of the input with the source of a sequence-to-sequence model
  int64_t tokenizer_size = 0;     // tokens from here on cannot be decoded: their scores become -infinity; 0: none
};

// Finds the ports. A model without the extension is understood if it has one int64 input [N, T] and one floating-point
// output [N, T, V] with the same T. Throws Error(configuration) that starts with `place` for a model that cannot
// generate.
TokenPorts find_token_ports(const components::Model& model, const std::string& place);

class ContinuedSequences {
 public:
  // Reads the prompt as one sequence. `source`: the tokens of the source, if the model has one. A prompt that is longer
  // than the context is read from its end, as nanoGPT does.
  // REQUIRES: the prompt is not empty; all tokens are below the vocabulary size.
  ContinuedSequences(Evaluation& evaluation, const TokenPorts& ports, const components::StepContext& context,
                     const std::vector<int64_t>& source, const std::vector<int64_t>& prompt);

  // The scores of the token after each sequence. Throws Error(non_finite) for a NaN, and if all scores are infinite.
  std::vector<std::span<const double>> scores() const;

  // Appends a token to each sequence. If a sequence would be longer than the context, the model reads its last tokens
  // again, without the cache.
  void append(const std::vector<int64_t>& tokens);

  // Replaces the sequences by those with these indices, which may repeat. It does not change scores().
  void select(const std::vector<int64_t>& rows);

 private:
  void read_all();
  void read_last(const std::vector<int64_t>& tokens);
  std::vector<at::Tensor> place_inputs(const at::Tensor& tokens, const at::Tensor& source) const;
  void take(const at::Tensor& scores);

  Evaluation& evaluation_;
  const TokenPorts ports_;
  const components::StepContext context_;
  std::vector<std::vector<int64_t>> sequences_;
  at::Tensor source_;              // [1, S], or undefined
  std::vector<at::Tensor> cache_;  // empty if the next call reads all tokens
  at::Tensor scores_;              // [N, V] float64 on the CPU
};

}  // namespace tenon::pipeline
