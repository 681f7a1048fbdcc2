// A text as one sequence of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/params.hpp>

#include "plugins/datasets/text_windows/text_encoding.h"

namespace text_windows {

struct TextTokens {
  // Declares `tokens`, `tokenizer` and the parameters for training a tokenizer.
  static std::vector<tenon::Param> schema();

  // `place` is for messages. Throws tenon::DataError if the text must be UTF-8 and is not.
  TextTokens(const std::string& text, const tenon::Params& params, const std::string& place);

  std::vector<int32_t> ids;
  std::shared_ptr<const TextEncoding> encoding;
  std::shared_ptr<const std::string> model;  // model of a trained tokenizer, shared with the next dataset
};

}  // namespace text_windows
