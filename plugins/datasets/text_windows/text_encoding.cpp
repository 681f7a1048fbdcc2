#include "plugins/datasets/text_windows/text_encoding.h"

#include <algorithm>
#include <map>
#include <utility>

#include <tenon/error.hpp>

namespace text_windows {
namespace {

// Calls take(code point, its bytes) for each character. `text` must be valid UTF-8.
template <class Take>
void for_each_character(std::string_view text, const Take& take) {
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    int32_t character = size == 1 ? first : first & (0x7F >> size);
    for (size_t i = 1; i < size; ++i) character = character << 6 | (text[at + i] & 0x3F);
    take(character, text.substr(at, size));
    at += size;
  }
}

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

}  // namespace

std::shared_ptr<const TextEncoding> TextEncoding::make_bytes() { return std::make_shared<const Bytes>(); }

std::shared_ptr<const TextEncoding> TextEncoding::make_characters(std::string_view text) {
  return std::make_shared<const Characters>(text);
}

std::string TextEncoding::list_characters(std::string_view text) { return Characters(text).list(); }

std::shared_ptr<const TextEncoding> TextEncoding::make_pieces(text::Tokenizer tokenizer) {
  return std::make_shared<const Pieces>(std::move(tokenizer));
}

}  // namespace text_windows
