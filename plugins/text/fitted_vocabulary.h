// The vocabulary of a run: its training data make it, or a tokenizer file, and its other data use it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/params.hpp>

namespace text {

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
// `read` returns them from the file of `tokenizer`, and `make` from that of `tokenizer_text` or from `path`. Throws
// tenon::Error if the parameters name another vocabulary than `fitted`, and for both parameters. A file that is missing
// is then ignored.
std::shared_ptr<const std::string> choose_vocabulary(
    const tenon::Params& params, std::string_view fitted, const std::string& path,
    const std::function<std::string(const std::string& file)>& read,
    const std::function<std::shared_ptr<const std::string>(const std::string& file)>& make);

}  // namespace text
