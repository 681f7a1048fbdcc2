// A subset of the samples of a dataset: "80%" is the first four fifths of a random order, "80%-100%" is the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::config {

struct Subset {
  static constexpr int64_t kPercent = 1'000'000;  // in millionths of a percent, because integers compare exactly
  static constexpr int64_t kWhole = 100 * kPercent;

  int64_t begin = 0;
  int64_t end = kWhole;  // exclusive

  bool is_whole() const { return begin == 0 && end == kWhole; }
  bool operator==(const Subset&) const = default;
};

// "80%" if the subset begins at 0, else "80%-100%".
std::string to_string(const Subset& subset);

// Percentages from 0 to 100 with up to six decimals. The first must be below the second. None if the text is not a
// subset.
std::optional<Subset> parse_subset(std::string_view text);

}  // namespace tenon::config
