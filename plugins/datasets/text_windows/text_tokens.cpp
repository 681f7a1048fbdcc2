#include "plugins/datasets/text_windows/text_tokens.h"

#include <algorithm>
#include <sstream>

#include <tenon/error.hpp>

#include "plugins/datasets/text_windows/text_file.h"
#include "plugins/text/fitted_vocabulary.h"
#include "plugins/text/train_tokenizer.h"
#include "plugins/text/utf8.h"

namespace text_windows {
namespace {

// Returns the lines that are not blank.
std::vector<std::string> split_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

void refuse_other_than_utf8(const std::string& text, const std::string& place) {
  const size_t at = text::find_invalid_utf8(text);
  if (at == text.size()) return;
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  throw tenon::DataError(place + ": is not UTF-8 at byte " + std::to_string(at) + ", in line " + std::to_string(line) +
                         "; convert it to UTF-8, or read it as tokens = \"bytes\"");
}

std::string read_utf8(const std::string& path) {
  std::string text = read_text(path);
  refuse_other_than_utf8(text, path);
  return unify(text);
}

// A parameter that would be ignored.
void refuse_unused(const tenon::Params& params, const std::string& kind) {
  for (const char* const name : {"tokenizer", "tokenizer_text"}) {
    const bool is_used = kind == "pieces" || (kind == "characters" && std::string_view(name) == "tokenizer_text");
    if (is_used || params.path(name).empty()) continue;
    throw tenon::Error(TENON_INVALID_ARGUMENT, std::string(name) + " is set, but tokens = \"" + kind +
                                                   "\" does not use it; remove it, or set tokens = \"pieces\"");
  }
}

// The vocabulary of the training data, or empty.
std::string read_fitted(std::string_view fitted, const std::string& kind) {
  if (fitted.empty()) return {};
  text::FittedVocabulary vocabulary = text::FittedVocabulary::parse(fitted);
  if (vocabulary.kind == kind) return std::move(vocabulary.bytes);
  throw tenon::Error(TENON_INVALID_ARGUMENT, "tokens = \"" + kind + "\", but those of the training data are \"" +
                                                 vocabulary.kind + "\"; expected the same tokens");
}

}  // namespace

std::vector<tenon::Param> TextTokens::schema() {
  std::vector<tenon::Param> params = {
      tenon::param("tokens", "bytes")
          .choices({"bytes", "characters", "pieces"})
          .doc("bytes: a token is the value of a byte; characters: the index of a character among those of the "
               "training text, sorted by code point; pieces: a SentencePiece piece, from each line that is not blank, "
               "with EOS after the line")};
  for (const std::vector<tenon::Param>& more :
       {text::tokenizer_schema("for pieces", "text file, or a pattern, with the characters or for training a tokenizer",
                               "path of the training data"),
        text::TokenizerTraining::schema()})
    params.insert(params.end(), more.begin(), more.end());
  return params;
}

TextTokens::TextTokens(std::string text, const tenon::Params& params, const std::string& path, std::string_view fitted)
    : kind(params.text("tokens")) {
  const bool is_pieces = kind == "pieces";
  refuse_unused(params, kind);
  const std::string of_training = read_fitted(fitted, kind);
  if (kind == "bytes") {
    encoding = TextEncoding::make_bytes();
    encoding->append_tokens(text, ids);
    return;
  }
  refuse_other_than_utf8(text, path);
  text = unify(text);
  vocabulary = text::choose_vocabulary(
      params, of_training, path, text::read_tokenizer_file,
      [&](const std::string& file) -> std::shared_ptr<const std::string> {
        const std::string read = file == path ? std::string() : read_utf8(file);
        const std::string& other = file == path ? text : read;
        if (!is_pieces) return std::make_shared<const std::string>(TextEncoding::list_characters(other));
        return text::train_tokenizer(split_lines(other), text::TokenizerTraining::read(params), file);
      });
  if (!is_pieces) {
    encoding = TextEncoding::make_characters(*vocabulary);
    try {
      encoding->append_tokens(text, ids);
    } catch (const tenon::DataError& error) {
      throw tenon::DataError(path + ": " + error.what());
    }
    return;
  }
  const std::string file = params.path("tokenizer");
  encoding = TextEncoding::make_pieces({*vocabulary, file.empty() ? "the trained tokenizer" : file});
  const int64_t end = encoding->special_ids().end;
  for (const std::string& line : split_lines(text)) {
    encoding->append_tokens(line, ids);
    if (end >= 0) ids.push_back(static_cast<int32_t>(end));
  }
  const auto unknown = std::count(ids.begin(), ids.end(), encoding->special_ids().unknown);
  text::warn_about_unknown(static_cast<size_t>(unknown), ids.size(), path);
}

}  // namespace text_windows
