#include "plugins/datasets/text_windows/text_tokens.h"

#include <algorithm>
#include <sstream>

#include <tenon/error.hpp>

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

}  // namespace

std::vector<tenon::Param> TextTokens::schema() {
  std::vector<tenon::Param> params = {
      tenon::param("tokens", "bytes")
          .choices({"bytes", "characters", "pieces"})
          .doc("bytes: a token is the value of a byte; characters: the index of a character among those of the text, "
               "sorted by code point; pieces: a SentencePiece piece, from each line that is not blank, with EOS after "
               "the line"),
      tenon::param("tokenizer", tenon::Path())
          .doc("SentencePiece model for pieces; empty: one is trained from the text, the same for every split")};
  for (const tenon::Param& param : text::TokenizerTraining::schema()) params.push_back(param);
  return params;
}

TextTokens::TextTokens(const std::string& text, const tenon::Params& params, const std::string& place) {
  const std::string kind = params.text("tokens");
  if (kind != "bytes") refuse_other_than_utf8(text, place);
  if (kind != "pieces") {
    encoding = kind == "bytes" ? TextEncoding::make_bytes() : TextEncoding::make_characters(text);
    encoding->append_tokens(text, ids);
    return;
  }
  const std::vector<std::string> lines = split_lines(text);
  const std::string file = params.path("tokenizer");
  if (file.empty()) model = text::train_tokenizer(lines, text::TokenizerTraining::read(params), place);
  encoding = TextEncoding::make_pieces(
      {model ? *model : text::read_tokenizer_file(file), model ? "the trained tokenizer" : file});
  const int64_t end = encoding->special_ids().end;
  for (const std::string& line : lines) {
    encoding->append_tokens(line, ids);
    if (end >= 0) ids.push_back(static_cast<int32_t>(end));
  }
}

}  // namespace text_windows
