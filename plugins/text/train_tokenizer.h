// Trains tokenizers on the texts of a dataset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/params.hpp>

namespace text {

struct TokenizerTraining {
  // The parameters `vocabulary_size`, `model_type` and `character_coverage`.
  static std::vector<tenon::Param> schema();
  static TokenizerTraining read(const tenon::Params& params);

  int64_t vocabulary_size;
  std::string model_type;  // "unigram", "bpe" or "char"
  double character_coverage;
};

// Trains a SentencePiece model on these texts. The ids are 0 for padding, 1 for unknown, 2 for BOS and 3 for EOS. The
// bytes of the model depend only on the arguments. The model has vocabulary_size pieces, or fewer if the texts contain
// fewer. While the result is in use, another call with the same arguments returns the same object. `place` is used in
// messages. Throws tenon::Error if the vocabulary is too small for the characters of the texts.
std::shared_ptr<const std::string> train_tokenizer(const std::vector<std::string>& texts,
                                                   const TokenizerTraining& training, const std::string& place);

}  // namespace text
