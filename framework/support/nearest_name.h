// "Did you mean ...?": suggests the known name closest to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::support {

// Returns the candidate with the smallest Damerau-Levenshtein distance (optimal string alignment, ignoring case), and
// the first of equals. None if every candidate differs in more than a third of its letters, where two differences are
// always allowed, or has nothing in common with the name.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// Returns `; did you mean "adamw"?`, or `; known: a, b, c` if no candidate is near, or "" without candidates.
std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tenon::support
