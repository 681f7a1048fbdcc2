#include "plugins/datasets/text_windows/text_tokens.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include <tenon/error.hpp>

#include "framework/formats/regular_file.h"
#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/find_files.h"
#include "plugins/datasets/shared/join_params.h"
#include "plugins/text/tokenizer.h"

namespace text_windows {
namespace {

std::vector<std::string> list_files(const std::string& pattern) {
  std::vector<std::string> files = datasets::match_files(pattern, 0);
  if (files.empty()) {
    throw tenon::DataError(
        pattern +
        ": no such file, and no file matches it as a pattern; expected a text file, or a pattern such as texts/*.txt");
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Calls take(code point, its bytes) for each character. `text` must be valid UTF-8.
template <class Take>
void for_each_character(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const formats::Character next = formats::first_character(text);
    take(static_cast<int32_t>(next.code), text.substr(0, next.bytes));
    text.remove_prefix(next.bytes);
  }
}

// A token is the value of a byte.
class Bytes final : public TextEncoding {
 public:
  int64_t vocabulary_size() const override { return 256; }

  void append_tokens(std::string_view text, std::vector<int32_t>& tokens) const override {
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  }

  std::string decode(const std::vector<int64_t>& tokens) const override {
    std::string text;
    for (const int64_t token : tokens) text += static_cast<char>(token);
    return text;
  }
};

// A token is the index of a character among those of `text`, sorted by code point. `text` must be valid UTF-8.
class Characters final : public TextEncoding {
 public:
  explicit Characters(std::string_view text) {
    for_each_character(text, [&](int32_t character, std::string_view bytes) { add(character, bytes); });
    std::sort(known_.begin(), known_.end(),
              [](const Character& one, const Character& other) { return one.code < other.code; });
    for (size_t token = 0; token < known_.size(); ++token)
      tokens_[static_cast<size_t>(known_[token].code)] = static_cast<int32_t>(token);
  }

  int64_t vocabulary_size() const override { return static_cast<int64_t>(known_.size()); }

  void append_tokens(std::string_view text, std::vector<int32_t>& tokens) const override {
    std::map<std::string_view, int64_t> unknown;
    for_each_character(text, [&](int32_t character, std::string_view bytes) {
      const auto code = static_cast<size_t>(character);
      const bool is_known = code < tokens_.size() && tokens_[code] != kNone;
      is_known ? tokens.push_back(tokens_[code]) : void(++unknown[bytes]);
    });
    if (!unknown.empty()) refuse(unknown);
  }

  std::string decode(const std::vector<int64_t>& tokens) const override {
    std::string text;
    for (const int64_t token : tokens) text += known_[static_cast<size_t>(token)].bytes;
    return text;
  }

  // Returns each character of the text once, sorted by code point.
  std::string list() const {
    std::string text;
    for (const Character& character : known_) text += character.bytes;
    return text;
  }

 private:
  struct Character {
    int32_t code;
    std::string bytes;
  };
  static constexpr int32_t kNone = -1;

  [[noreturn]] void refuse(const std::map<std::string_view, int64_t>& unknown) const {
    constexpr size_t kExamples = 3;
    std::string list;
    size_t count = 0;
    for (const auto& [bytes, times] : unknown) {
      if (count++ == kExamples) break;
      list += (list.empty() ? "\"" : ", \"") + std::string(bytes) + '"';
    }
    const bool is_one = unknown.size() == 1;
    throw tenon::DataError((is_one ? "the character " : std::to_string(unknown.size()) + " characters, such as ") +
                           list + (is_one ? " is not one" : ", are not") + " of the " + std::to_string(known_.size()) +
                           " characters of the training text; leave " + (is_one ? "it" : "them") +
                           " out, or set tokenizer_text of the training data to a text with all characters");
  }

  void add(int32_t character, std::string_view bytes) {
    const auto code = static_cast<size_t>(character);
    if (code >= tokens_.size()) tokens_.resize(code + 1, kNone);
    if (tokens_[code] != kNone) return;
    tokens_[code] = 0;  // until all characters are known
    known_.push_back({character, std::string(bytes)});
  }

  std::vector<int32_t> tokens_;   // by code point
  std::vector<Character> known_;  // by token
};

class Pieces final : public TextEncoding {
 public:
  explicit Pieces(text::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  int64_t vocabulary_size() const override { return tokenizer_.vocabulary_size(); }
  text::SpecialIds special_ids() const override { return tokenizer_.special_ids(); }
  void append_tokens(std::string_view text, std::vector<int32_t>& tokens) const override {
    tokenizer_.append_ids(text, tokens);
  }
  std::string decode(const std::vector<int64_t>& tokens) const override { return tokenizer_.decode(tokens); }

 private:
  text::Tokenizer tokenizer_;
};

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
  const size_t at = formats::find_invalid_utf8(text);
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

std::string read_text(const std::string& path) {
  std::string text;
  for (const std::string& file : list_files(path)) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    const std::string read = formats::read_whole(file, "a text");
    if (const std::string found = formats::find_wide_encoding(read); !found.empty())
      throw tenon::DataError(file + ": " + found);
    text.append(read, read.starts_with(formats::kByteOrderMark) ? formats::kByteOrderMark.size() : 0);
  }
  return text;
}

std::string unify(std::string_view text) {
  std::string lines;
  lines.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') lines += text[i];
  return formats::compose(lines);
}

std::vector<tenon::Param> TextTokens::schema() {
  const std::vector<tenon::Param> of_tokens = {
      tenon::param("tokens", "bytes")
          .choices({"bytes", "characters", "pieces"})
          .doc("bytes: a token is the value of a byte; characters: the index of a character among those of the "
               "training text, sorted by code point; pieces: a SentencePiece piece, from each line that is not blank, "
               "with EOS after the line")};
  return datasets::join_params(
      {of_tokens,
       text::tokenizer_schema("for pieces", "text file, or a pattern, with the characters or for training a tokenizer",
                              "path of the training data"),
       text::TokenizerTraining::schema()});
}

TextTokens::TextTokens(std::string text, const tenon::Params& params, const std::string& path, std::string_view fitted)
    : kind(params.text("tokens")) {
  const bool is_pieces = kind == "pieces";
  refuse_unused(params, kind);
  const std::string of_training = read_fitted(fitted, kind);
  if (kind == "bytes") {
    encoding = std::make_shared<const Bytes>();
    encoding->append_tokens(text, ids);
    return;
  }
  refuse_other_than_utf8(text, path);
  text = unify(text);
  vocabulary = text::choose_vocabulary(
      params, of_training, path, [&](const std::string& file) -> std::shared_ptr<const std::string> {
        const std::string read = file == path ? std::string() : read_utf8(file);
        const std::string& other = file == path ? text : read;
        if (!is_pieces) return std::make_shared<const std::string>(Characters(other).list());
        return text::train_tokenizer(split_lines(other), text::TokenizerTraining::read(params), file);
      });
  if (!is_pieces) {
    encoding = std::make_shared<const Characters>(*vocabulary);
    try {
      encoding->append_tokens(text, ids);
    } catch (const tenon::DataError& error) {
      throw tenon::DataError(path + ": " + error.what());
    }
    return;
  }
  const std::string file = params.path("tokenizer");
  encoding =
      std::make_shared<const Pieces>(text::Tokenizer(*vocabulary, file.empty() ? "the trained tokenizer" : file));
  const int64_t end = encoding->special_ids().end;
  for (const std::string& line : split_lines(text)) {
    encoding->append_tokens(line, ids);
    if (end >= 0) ids.push_back(static_cast<int32_t>(end));
  }
  const auto unknown = std::count(ids.begin(), ids.end(), encoding->special_ids().unknown);
  text::warn_about_unknown(static_cast<size_t>(unknown), ids.size(), path);
}

}  // namespace text_windows
