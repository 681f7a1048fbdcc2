#include "plugins/datasets/text_windows/text_tokens.h"

#include <algorithm>
#include <sstream>

#include <tenon/error.hpp>

#include "plugins/text/tokenizer.h"
#include "plugins/text/train_tokenizer.h"
#include "plugins/text/utf8.h"

namespace text_windows {
namespace {

// `text` must be valid UTF-8.
std::vector<int32_t> decode_utf8(const std::string& text) {
  std::vector<int32_t> characters;
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    int32_t character = size == 1 ? first : first & (0x7F >> size);
    for (size_t i = 1; i < size; ++i) character = character << 6 | (text[at + i] & 0x3F);
    characters.push_back(character);
    at += size;
  }
  return characters;
}

// Replaces each character by its index in the sorted code points of the text. Returns the number of different
// characters.
int64_t number_characters(std::vector<int32_t>& characters) {
  std::vector<int32_t> known = characters;
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (int32_t& character : characters) {
    character = static_cast<int32_t>(std::lower_bound(known.begin(), known.end(), character) - known.begin());
  }
  return static_cast<int64_t>(known.size());
}

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
  if (kind == "bytes") {
    vocabulary_size = 256;
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
    return;
  }
  refuse_other_than_utf8(text, place);
  if (kind == "characters") {
    ids = decode_utf8(text);
    vocabulary_size = number_characters(ids);
    return;
  }
  const std::vector<std::string> lines = split_lines(text);
  const std::string file = params.path("tokenizer");
  if (file.empty()) model = text::train_tokenizer(lines, text::TokenizerTraining::read(params), place);
  const text::Tokenizer tokenizer(model ? *model : text::read_tokenizer_file(file),
                                  model ? "the trained tokenizer" : file);
  vocabulary_size = tokenizer.vocabulary_size();
  const int64_t end = tokenizer.special_ids().end;
  for (const std::string& line : lines) {
    tokenizer.append_ids(line, ids);
    if (end >= 0) ids.push_back(static_cast<int32_t>(end));
  }
}

}  // namespace text_windows
