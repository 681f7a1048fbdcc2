// A part of a dataset's samples, as people say it: "80%", the first four fifths of a random order, or "80%-100%", the
// rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::config {

struct Subset {
  static constexpr int64_t kPercent = 1'000'000;  // the unit is a millionth of a percent: whole numbers compare exactly
  static constexpr int64_t kWhole = 100 * kPercent;

  int64_t begin = 0;
  int64_t end = kWhole;  // exclusive

  bool is_whole() const { return begin == 0 && end == kWhole; }
  bool operator==(const Subset&) const = default;
};

// "80%" where it begins at 0, else "80%-100%".
std::string to_string(const Subset& subset);

// Percentages from 0 to 100 with up to six decimals, the first below the second. None if the text is no subset.
std::optional<Subset> parse_subset(std::string_view text);

}  // namespace tenon::config
