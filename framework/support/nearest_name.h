// "Did you mean ...?": suggests the known name closest to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::support {

// Returns the candidate with the smallest Damerau-Levenshtein distance (optimal string alignment, ignoring case), and
// the first of equals. Ignores candidates that differ in more than two letters and more than a third of their letters,
// and those that have nothing in common with the name. A
// candidate that has the name as one of its words is nearer than one that differs in a letter: "f1" is
// "precision_recall_f1", not "l1". None if no candidate is left.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// Returns `; did you mean "adamw"?`, or `; known: a, b, c` if no candidate is near, or "" without candidates.
std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tenon::support
