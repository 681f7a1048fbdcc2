// The tokens of all pairs of a dataset, concatenated in a single array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tenon/params.hpp>

#include "plugins/text/text_table.h"
#include "plugins/text/tokenizer.h"

namespace text_pairs {

// Length limits for the sides of a pair, and the handling of longer pairs.
struct LengthLimits {
  // Declares `max_source_tokens`, `max_target_tokens` and `too_long`.
  static std::vector<tenon::Param> schema();
  explicit LengthLimits(const tenon::Params& params);

  size_t source;
  size_t target;
  enum class Longer { truncate, leave_out, refuse } longer;
};

class TokenPairs {
 public:
  explicit TokenPairs(const LengthLimits& limits) : limits_(limits) {}

  // Appends the tokens of both texts, each followed by EOS. Throws tenon::DataError prefixed by `place` if the pair is
  // too long and LengthLimits::longer is `refuse`.
  void append(std::string_view source, std::string_view target, const text::Tokenizer& tokenizer, int32_t end,
              const std::string& place);

  size_t size() const { return ends_.size() / 2; }
  std::span<const int32_t> source(size_t pair) const { return side(2 * pair); }
  std::span<const int32_t> target(size_t pair) const { return side(2 * pair + 1); }
  size_t read() const { return read_; }          // number of appended pairs
  size_t too_long() const { return too_long_; }  // number of appended pairs that were too long, left out or not

  // FNV-1a hash of all tokens and the offsets of their ends.
  uint64_t hash() const;

 private:
  std::span<const int32_t> side(size_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::span(tokens_).subspan(begin, ends_[index] - begin);
  }

  LengthLimits limits_;
  std::vector<int32_t> tokens_;
  std::vector<size_t> ends_;  // ends of source and target, alternating; offsets into tokens_
  size_t read_ = 0;
  size_t too_long_ = 0;
};

}  // namespace text_pairs
