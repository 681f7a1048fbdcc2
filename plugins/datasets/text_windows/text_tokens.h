// A text as one sequence of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/params.hpp>

#include "plugins/datasets/text_windows/text_encoding.h"

namespace text_windows {

struct TextTokens {
  // Declares `tokens`, `tokenizer`, `tokenizer_text` and the parameters for training a tokenizer.
  static std::vector<tenon::Param> schema();

  // `path`: of the text. `fitted`: the vocabulary of the training data; empty: this text or the parameters make it.
  // Throws tenon::DataError if the text must be UTF-8 and is not, or has characters that the vocabulary lacks.
  TextTokens(std::string text, const tenon::Params& params, const std::string& path, std::string_view fitted);

  std::vector<int32_t> ids;
  std::shared_ptr<const TextEncoding> encoding;
  std::string kind;  // the parameter `tokens`
  // The characters, or the SentencePiece model, shared with the next dataset; empty for bytes.
  std::shared_ptr<const std::string> vocabulary;
};

}  // namespace text_windows
