#include "framework/config/values/subset.h"

namespace tenon::config {
namespace {

constexpr size_t kDecimals = 6;

std::string write_percentage(int64_t millionths) {
  std::string text = std::to_string(millionths / Subset::kPercent);
  std::string decimals = std::to_string(Subset::kPercent + millionths % Subset::kPercent).substr(1);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return text + (decimals.empty() ? "" : "." + decimals) + "%";
}

// Removes the digits at the front of the text. None if there are no digits, or more than `most`.
std::optional<int64_t> take_digits(std::string_view& text, size_t most) {
  size_t count = 0;
  int64_t value = 0;
  while (count < text.size() && count <= most && text[count] >= '0' && text[count] <= '9')
    value = 10 * value + (text[count++] - '0');
  if (count == 0 || count > most) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<int64_t> take_percentage(std::string_view& text) {
  const auto whole = take_digits(text, 3);
  if (!whole) return std::nullopt;
  int64_t millionths = *whole * Subset::kPercent;
  if (take(text, '.')) {
    const size_t before = text.size();
    auto decimals = take_digits(text, kDecimals);
    if (!decimals) return std::nullopt;
    for (size_t digits = before - text.size(); digits < kDecimals; ++digits) *decimals *= 10;
    millionths += *decimals;
  }
  return take(text, '%') ? std::optional(millionths) : std::nullopt;
}

}  // namespace

std::string to_string(const Subset& subset) {
  const std::string end = write_percentage(subset.end);
  return subset.begin == 0 ? end : write_percentage(subset.begin) + "-" + end;
}

std::optional<Subset> parse_subset(std::string_view text) {
  const auto first = take_percentage(text);
  if (!first) return std::nullopt;
  Subset subset{0, *first};
  if (take(text, '-')) {
    const auto second = take_percentage(text);
    if (!second) return std::nullopt;
    subset = {*first, *second};
  }
  const bool is_range = subset.begin < subset.end && subset.end <= Subset::kWhole;
  return text.empty() && is_range ? std::optional(subset) : std::nullopt;
}

}  // namespace tenon::config
