// A text as one row of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/params.hpp>

namespace text_windows {

struct TextTokens {
  // `tokens`, `tokenizer` and what a tokenizer is trained by.
  static std::vector<tenon::Param> schema();

  // `place` is for messages. Throws tenon::DataError if the text is no UTF-8 where it has to be.
  TextTokens(const std::string& text, const tenon::Params& params, const std::string& place);

  std::vector<int32_t> ids;
  int64_t vocabulary_size = 0;
  std::shared_ptr<const std::string> model;  // of a tokenizer that was trained, so that the next dataset finds it
};

}  // namespace text_windows
