// Text as numbers, by SentencePiece (T. Kudo and J. Richardson, arXiv:1808.06226).
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

// The ids with a meaning of their own; -1 for one that there is none of.
struct SpecialIds {
  int64_t pad = -1;
  int64_t begin = -1;  // of a sentence, BOS
  int64_t end = -1;    // EOS
};

class Tokenizer {
 public:
  // From a model as SentencePiece writes it. Throws tenon::DataError headed by `place` if it is none.
  Tokenizer(const std::string& model, const std::string& place);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;

  int64_t vocabulary_size() const;
  SpecialIds special_ids() const;

  // Appends the text's ids, in [0, vocabulary_size()). May be called by several threads at once.
  void append_ids(std::string_view text, std::vector<int32_t>& ids) const;

 private:
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

// The bytes of a file with a model. Throws tenon::DataError naming it.
std::string read_tokenizer_file(const std::string& path);

}  // namespace text
