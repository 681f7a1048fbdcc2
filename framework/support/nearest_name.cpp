#include "framework/support/nearest_name.h"

#include <algorithm>
#include <cctype>

namespace tenon::support {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

// Optimal string alignment: insertions, deletions, replacements, and swaps of neighbours.
size_t edit_distance(const std::string& a, const std::string& b) {
  // Rows i - 2, i - 1 and i of the distances between the first i letters of a and the first j letters of b.
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string expected = lower_case(name);
  std::optional<std::string> nearest;
  size_t smallest = 0;
  for (const std::string& candidate : candidates) {
    const std::string known = lower_case(candidate);
    // An abbreviation counts as one edit.
    const bool is_abbreviated = expected.size() >= 3 && known.size() > expected.size() && known.starts_with(expected);
    const size_t distance = is_abbreviated ? 1 : edit_distance(expected, known);
    const bool is_near =
        distance <= std::max<size_t>(2, known.size() / 3) && distance < std::max(expected.size(), known.size());
    if (is_near && (!nearest || distance < smallest)) {
      nearest = candidate;
      smallest = distance;
    }
  }
  return nearest;
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "";
  if (const auto nearest = nearest_name(name, candidates)) return "; did you mean \"" + *nearest + "\"?";
  std::string text = "; known: ";
  for (const std::string& candidate : candidates) {
    if (&candidate != &candidates.front()) text += ", ";
    text += candidate;
  }
  return text;
}

}  // namespace tenon::support
