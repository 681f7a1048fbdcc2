// Text as tokens and tokens as text, in C++. A dataset defines three functions:
//
//   tenon::TokenizerInfo tokenizer() const { return {{"tokens"}, 256}; }       // called once, after construction
//   std::vector<int64_t> encode(std::string_view text) const;                  // without special tokens
//   std::string decode(const std::vector<int64_t>& tokens) const;              // as UTF-8
//
// tokenizer.h explains what the host passes. encode throws tenon::DataError for a text that has no tokens in this
// vocabulary. If tokenizer() names no field, the data of this instance are no text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "detail/detect.hpp"
#include "detail/guard.hpp"
#include "tokenizer.h"

namespace tenon {

struct TokenizerInfo {
  std::vector<std::string> fields;  // fields that hold tokens
  int64_t vocabulary_size = 0;
  // Special tokens, which are no text; -1 if there is none.
  int64_t begin = -1;
  int64_t end = -1;
  int64_t pad = -1;
};

namespace detail {

TENON_DETECT(tokenizer, std::declval<const T&>().tokenizer());

// The author's description together with the struct that borrows from it.
class TokenizerTable {
 public:
  explicit TokenizerTable(TokenizerInfo info) : info_(std::move(info)) {
    for (const std::string& field : info_.fields) fields_.push_back(borrow(field));
    described_.size = sizeof described_;
    described_.fields = fields_.data();
    described_.field_count = fields_.size();
    described_.vocabulary_size = info_.vocabulary_size;
    described_.begin = info_.begin;
    described_.end = info_.end;
    described_.pad = info_.pad;
  }
  TokenizerTable(const TokenizerTable&) = delete;
  TokenizerTable& operator=(const TokenizerTable&) = delete;

  // Null without fields.
  void hand_out(const tenon_tokenizer_info** info) const { *info = fields_.empty() ? nullptr : &described_; }

 private:
  const TokenizerInfo info_;
  std::vector<tenon_string> fields_;  // borrow from info_
  tenon_tokenizer_info described_ = {};
};

}  // namespace detail

}  // namespace tenon
