// Text tokenization with SentencePiece (T. Kudo and J. Richardson, arXiv:1808.06226), and the vocabulary of a run: its
// training data make it, or a tokenizer file, and its other data use it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/params.hpp>

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

// Returns a special id: the parameter, or the tokenizer's id if the parameter is -1. Throws tenon::Error if the
// tokenizer does not have it.
int32_t special_id(const tenon::Params& params, const char* parameter, int64_t of_tokenizer, int64_t vocabulary_size);

// Logs a warning if many of the tokens of a text are unknown. `place`: of the text.
void warn_about_unknown(size_t unknown, size_t tokens, const std::string& place);

// Reads a model file. Throws tenon::DataError with the file name.
std::string read_tokenizer_file(const std::string& path);

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

// What a dataset of texts saves with the weights, see tenon/draft/fitted_data.h.
struct FittedVocabulary {
  std::string kind;   // "bytes", "characters" or "pieces"
  std::string bytes;  // nothing, all characters, or a SentencePiece model

  std::string print() const { return kind + '\n' + bytes; }

  // Throws tenon::DataError for bytes that print() did not return.
  static FittedVocabulary parse(std::string_view printed);
};

// The parameters `tokenizer` and `tokenizer_text`. `without_both`: what a tokenizer is trained from then.
std::vector<tenon::Param> tokenizer_schema(const std::string& what, const std::string& tokenizer_text,
                                           const std::string& without_both);

// Returns the contents of a vocabulary: those of `fitted`, which are the training data's, unless it is empty. Otherwise
// those of the file of `tokenizer`, or what `make` returns for that of `tokenizer_text` or for `path`. Throws
// tenon::Error if the parameters name another vocabulary than `fitted`, and for both parameters. A file that is missing
// is then ignored.
std::shared_ptr<const std::string> choose_vocabulary(
    const tenon::Params& params, std::string_view fitted, const std::string& path,
    const std::function<std::shared_ptr<const std::string>(const std::string& file)>& make);

}  // namespace text
