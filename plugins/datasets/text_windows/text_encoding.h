// Between text and the tokens of text_windows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/text/tokenizer.h"

namespace text_windows {

class TextEncoding {
 public:
  virtual ~TextEncoding() = default;
  virtual int64_t vocabulary_size() const = 0;
  virtual text::SpecialIds special_ids() const { return {}; }

  // Appends the tokens of a text, without special tokens. Throws tenon::DataError for a text that has none in this
  // vocabulary.
  virtual void append_tokens(std::string_view text, std::vector<int32_t>& tokens) const = 0;

  // Returns the text of tokens in [0, vocabulary_size()); not UTF-8 if bytes cut a character.
  virtual std::string decode(const std::vector<int64_t>& tokens) const = 0;

  // A token is the value of a byte.
  static std::shared_ptr<const TextEncoding> make_bytes();

  // A token is the index of a character among those of `text`, sorted by code point. `text` must be valid UTF-8.
  static std::shared_ptr<const TextEncoding> make_characters(std::string_view text);

  // Returns each character of `text` once, sorted by code point. `text` must be valid UTF-8.
  static std::string list_characters(std::string_view text);

  static std::shared_ptr<const TextEncoding> make_pieces(text::Tokenizer tokenizer);
};

}  // namespace text_windows
