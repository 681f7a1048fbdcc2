#include "plugins/datasets/text_pairs/token_pairs.h"

#include <algorithm>

#include <tenon/error.hpp>

#include "plugins/hash_text.h"

namespace text_pairs {
namespace {

LengthLimits::Longer longer_named(const std::string& name) {
  if (name == "refuse") return LengthLimits::Longer::refuse;
  return name == "leave_out" ? LengthLimits::Longer::leave_out : LengthLimits::Longer::truncate;
}

}  // namespace

std::vector<tenon::Param> LengthLimits::schema() {
  return {
      tenon::param("max_source_tokens", 256).range("[2, 1e9]").doc("maximum source length in tokens, including EOS"),
      tenon::param("max_target_tokens", 256).range("[2, 1e9]").doc("maximum target length in tokens, including EOS"),
      tenon::param("too_long", "truncate")
          .choices({"truncate", "leave_out", "refuse"})
          .doc("how to handle a longer pair: truncate it and end it with EOS, leave it out (the log counts both), or "
               "report an error")};
}

LengthLimits::LengthLimits(const tenon::Params& params)
    : source(static_cast<size_t>(params.integer("max_source_tokens"))),
      target(static_cast<size_t>(params.integer("max_target_tokens"))),
      longer(longer_named(params.text("too_long"))) {}

void TokenPairs::append(std::string_view source, std::string_view target, const text::Tokenizer& tokenizer, int32_t end,
                        const std::string& place) {
  std::vector<int32_t> sides[2];
  tokenizer.append_ids(source, sides[0]);
  tokenizer.append_ids(target, sides[1]);
  const size_t limits[2] = {limits_.source, limits_.target};
  const bool is_too_long = sides[0].size() + 1 > limits[0] || sides[1].size() + 1 > limits[1];
  ++read_;
  too_long_ += is_too_long;
  if (is_too_long && limits_.longer == LengthLimits::Longer::leave_out) return;
  if (is_too_long && limits_.longer == LengthLimits::Longer::refuse) {
    throw tenon::DataError(place + ": has " + std::to_string(sides[0].size() + 1) + " source and " +
                           std::to_string(sides[1].size() + 1) + " target tokens; expected at most " +
                           std::to_string(limits[0]) + " and " + std::to_string(limits[1]) +
                           "; raise max_source_tokens or max_target_tokens, or choose another too_long");
  }
  for (size_t i = 0; i < 2; ++i) {
    sides[i].resize(std::min(sides[i].size(), limits[i] - 1));
    tokens_.insert(tokens_.end(), sides[i].begin(), sides[i].end());
    tokens_.push_back(end);
    ends_.push_back(tokens_.size());
  }
}

uint64_t TokenPairs::hash() const {
  const auto bytes = [](const auto& numbers) {
    return std::string_view(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]);
  };
  return components::hash_text(bytes(ends_), components::hash_text(bytes(tokens_)));
}

}  // namespace text_pairs
