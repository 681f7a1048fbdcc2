// Text tokenization with SentencePiece (T. Kudo and J. Richardson, arXiv:1808.06226).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace text {

// The ids of special tokens, or -1 if the model does not have the token.
struct SpecialIds {
  int64_t pad = -1;
  int64_t begin = -1;  // begin of sentence (BOS)
  int64_t end = -1;    // end of sentence (EOS)
  int64_t unknown = -1;
};

class Tokenizer {
 public:
  // Loads a serialized SentencePiece model. Throws tenon::DataError that starts with `place` if it is invalid.
  Tokenizer(const std::string& model, const std::string& place);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;

  int64_t vocabulary_size() const;
  SpecialIds special_ids() const;

  // Appends the ids of the text, in [0, vocabulary_size()). Thread-safe.
  void append_ids(std::string_view text, std::vector<int32_t>& ids) const;

  // Returns the text of ids in [0, vocabulary_size()). Thread-safe.
  std::string decode(const std::vector<int64_t>& ids) const;

 private:
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

// Logs a warning if many of the tokens of a text are unknown. `place`: of the text.
void warn_about_unknown(size_t unknown, size_t tokens, const std::string& place);

// Reads a model file. Throws tenon::DataError with the file name.
std::string read_tokenizer_file(const std::string& path);

}  // namespace text
