#include "framework/support/nearest_name.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

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

// The words of "precision_recall_f1" or "lr-find".
std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char letter : text)
    if (letter != '_' && letter != '-')
      words.back() += letter;
    else
      words.emplace_back();
  return words;
}

// Whether the texts differ in at most two letters, or a third of them, and have something in common.
bool is_near(size_t distance, const std::string& name, const std::string& known) {
  return distance <= std::max<size_t>(2, known.size() / 3) && distance < std::max(name.size(), known.size());
}

// Twice the number of edits. For one word of a longer name, one more. None if they are too many.
std::optional<size_t> rate(const std::string& name, const std::string& known) {
  // An abbreviation counts as one edit.
  const bool is_abbreviated = name.size() >= 3 && known.size() > name.size() && known.starts_with(name);
  const size_t distance = is_abbreviated ? 1 : edit_distance(name, known);
  std::optional<size_t> best;
  if (is_near(distance, name, known)) best = 2 * distance;
  const std::vector<std::string> words = split_words(known);
  if (words.size() == 1) return best;
  constexpr size_t kLongWord = 5;  // shorter words are similar by chance
  for (const std::string& word : words) {
    const size_t edits = edit_distance(name, word);
    const bool is_same = edits == 0 && name.size() >= 2;
    if (is_same || (name.size() >= kLongWord && edits <= 2 && is_near(edits, name, word)))
      best = std::min(best.value_or(SIZE_MAX), 2 * edits + 1);
  }
  return best;
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string expected = lower_case(name);
  std::optional<std::string> nearest;
  size_t smallest = 0;
  for (const std::string& candidate : candidates) {
    const std::optional<size_t> rating = rate(expected, lower_case(candidate));
    if (rating && (!nearest || *rating < smallest)) {
      nearest = candidate;
      smallest = *rating;
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
