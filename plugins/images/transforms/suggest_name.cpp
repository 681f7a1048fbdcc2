#include "plugins/images/transforms/suggest_name.h"

#include <algorithm>
#include <numeric>

namespace images {
namespace {

// Computes the Levenshtein distance.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

std::string suggest_nearest(std::string_view name, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  size_t smallest = 0;
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(name, candidate);
    const bool is_near =
        distance <= std::max<size_t>(2, candidate.size() / 3) && distance < std::max(name.size(), candidate.size());
    const bool is_part =
        name.size() > 3 && candidate.size() > 3 && (contains(name, candidate) || contains(candidate, name));
    if ((is_near || is_part) && (!nearest || distance < smallest)) {
      nearest = &candidate;
      smallest = distance;
    }
  }
  return nearest ? "; did you mean \"" + *nearest + "\"?" : "";
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = suggest_nearest(name, known);
  if (!nearest.empty()) return nearest;
  std::string text = "; known: ";
  for (const std::string& candidate : known) {
    if (&candidate != &known.front()) text += ", ";
    text += candidate;
  }
  return text;
}

}  // namespace images
