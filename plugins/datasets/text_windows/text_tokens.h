// A text as one sequence of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/params.hpp>

#include "plugins/text/tokenizer.h"

namespace text_windows {

// Returns the bytes of a file, or of all files that a pattern such as `texts/*.txt` matches. Files are concatenated in
// the byte order of their names, and each begins on a new line. A byte order mark of UTF-8 is left out. Throws
// tenon::DataError naming the path if nothing matches, or a file cannot be read or is UTF-16 or UTF-32.
std::string read_text(const std::string& path);

// Returns the text with LF for CR LF, in NFC.
std::string unify(std::string_view text);

// Between text and the tokens of text_windows.
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
};

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
