#include "framework/formats/nearest_name.h"

#include <algorithm>
#include <cctype>
#include <compare>
#include <cstdint>

#include "framework/formats/strings.h"

namespace formats {
namespace {

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

// The words of "precision_recall_f1", "lr-find", "validation/loss" or "CrossEntropyLoss", in lower case.
std::vector<std::string> split_words(std::string_view text) {
  const auto is_lower = [](unsigned char letter) { return std::islower(letter) != 0; };
  std::vector<std::string> words(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto letter = static_cast<unsigned char>(text[i]);
    const bool begins = i > 0 && std::isupper(letter) != 0 && is_lower(static_cast<unsigned char>(text[i - 1]));
    if (begins && !words.back().empty()) words.emplace_back();
    if (letter != '_' && letter != '-' && letter != '/')
      words.back() += static_cast<char>(std::tolower(letter));
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.size() > 1 && words.back().empty()) words.pop_back();
  return words;
}

std::string initials_of(const std::vector<std::string>& words) {
  std::string initials;
  for (const std::string& word : words) initials += word.substr(0, 1);
  return initials;
}

// Whether the texts differ in at most two letters, or a third of them, and have something in common. Short texts are
// similar by chance.
bool is_near(size_t distance, const std::string& name, const std::string& known) {
  const size_t most = std::min(name.size(), known.size()) <= 3 ? 1 : std::max<size_t>(2, known.size() / 3);
  return distance <= most && distance < std::max(name.size(), known.size());
}

struct Rating {
  size_t distance = 0;  // twice the number of edits; odd: only words of the names are the same
  size_t words = 0;     // of the known name
  size_t letters = 0;   // of the known name, if words of it are the same: "cnn" is "small_cnn", not "siamese_cnn"
  auto operator<=>(const Rating&) const = default;
};

using Words = std::vector<std::string>;

bool abbreviates(const std::string& shorter, const std::string& longer) {
  return shorter.size() >= 3 && longer.size() > shorter.size() && longer.starts_with(shorter);
}

// An abbreviation counts as one edit.
std::optional<size_t> rate_letters(const std::string& name, const std::string& known) {
  if (abbreviates(name, known)) return 2;
  const size_t distance = edit_distance(name, known);
  if (is_near(distance, name, known)) return 2 * distance;
  return abbreviates(known, name) && 5 * known.size() >= 2 * name.size() ? std::optional<size_t>(3) : std::nullopt;
}

// One more than twice the edits to the nearest word of a longer name.
std::optional<size_t> rate_one_word(const std::string& name, const Words& known) {
  constexpr size_t kLongWord = 5;
  std::optional<size_t> best;
  for (const std::string& word : known.size() > 1 ? known : Words()) {
    const size_t edits = edit_distance(name, word);
    const bool is_same = edits == 0 && name.size() >= 2;
    if (is_same || (name.size() >= kLongWord && edits <= 2 && is_near(edits, name, word)))
      best = std::min(best.value_or(SIZE_MAX), 2 * edits + 1);
  }
  return best;
}

// "learning_rate" is "lr" and "ce" is "cross_entropy".
bool is_acronym(const Words& name, const Words& known) {
  return (known.size() > 1 && name.size() == 1 && initials_of(known) == name[0]) ||
         (name.size() > 1 && known.size() == 1 && initials_of(name) == known[0]);
}

// "val" and "validation" are the same word.
bool is_same_word(const std::string& a, const std::string& b) {
  constexpr size_t kShortest = 3;
  return (a == b && a.size() >= kShortest) || abbreviates(a, b) || abbreviates(b, a);
}

// Names that share words: "num_workers" and "workers", "CrossEntropyLoss" and "cross_entropy", "val_loss" and
// "validation/loss". One of the names has all words of the other, or they share long words.
std::optional<size_t> rate_shared_words(const Words& name, const Words& known) {
  constexpr size_t kManyLetters = 8;
  size_t shared = 0, letters = 0;
  for (const std::string& word : known) {
    const auto same = std::find_if(name.begin(), name.end(), [&](const auto& one) { return is_same_word(one, word); });
    if (same == name.end()) continue;
    ++shared;
    letters += std::min(word.size(), same->size());
  }
  const bool has_all = shared == name.size() || shared == known.size();
  if (shared == 0 || name.size() + known.size() == 2 || (!has_all && letters < kManyLetters)) return std::nullopt;
  return 5 + 2 * (std::max(name.size(), shared) + known.size() - 2 * shared);
}

// `lower`: the name in lower case. None if the names are not near.
std::optional<Rating> rate(const std::string& lower, const Words& name_words, const std::string& known) {
  const Words known_words = split_words(known);
  std::optional<size_t> best = rate_letters(lower, to_lower(known));
  const auto consider = [&best](std::optional<size_t> distance) {
    if (distance) best = std::min(best.value_or(SIZE_MAX), *distance);
  };
  consider(rate_one_word(lower, known_words));
  if (is_acronym(name_words, known_words)) consider(3);
  consider(rate_shared_words(name_words, known_words));
  if (!best) return std::nullopt;
  return Rating{*best, known_words.size(), *best % 2 == 1 ? known.size() : 0};
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string lower = to_lower(std::string(name));
  const Words words = split_words(name);
  std::optional<std::string> nearest;
  Rating smallest;
  for (const std::string& candidate : candidates) {
    const std::optional<Rating> rating = rate(lower, words, candidate);
    if (rating && (!nearest || *rating < smallest)) {
      nearest = candidate;
      smallest = *rating;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view meant) { return "; did you mean " + std::string(meant) + "?"; }

std::string did_you_mean_name(std::string_view name) { return did_you_mean('"' + std::string(name) + '"'); }

std::string suggest_nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const auto nearest = nearest_name(name, candidates);
  return nearest ? did_you_mean_name(*nearest) : "";
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "";
  if (std::string nearest = suggest_nearest(name, candidates); !nearest.empty()) return nearest;
  return "; known: " + join(candidates);
}

}  // namespace formats
