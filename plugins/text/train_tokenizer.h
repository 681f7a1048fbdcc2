// Tokenizers made from the text that they are for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/params.hpp>

namespace text {

struct TokenizerTraining {
  // `vocabulary_size`, `model_type` and `character_coverage`.
  static std::vector<tenon::Param> schema();
  static TokenizerTraining read(const tenon::Params& params);

  int64_t vocabulary_size;
  std::string model_type;  // "unigram", "bpe" or "char"
  double character_coverage;
};

// A SentencePiece model of these texts with the ids 0 for padding, 1 for what is unknown, 2 for BOS and 3 for EOS: a
// function of the arguments alone, byte for byte. It has vocabulary_size pieces, or fewer where the texts hold no more.
// As long as somebody holds it, another call with the same arguments gives the same object. `place` is for messages.
// Throws tenon::Error if the vocabulary is too small for the texts' characters.
std::shared_ptr<const std::string> train_tokenizer(const std::vector<std::string>& texts,
                                                   const TokenizerTraining& training, const std::string& place);

}  // namespace text
