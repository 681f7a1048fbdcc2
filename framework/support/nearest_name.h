// "Did you mean ...?": the known name closest to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::support {

// The candidate with the smallest Damerau-Levenshtein distance (optimal string alignment, ignoring the case of
// letters), the first one of equals; none if every candidate differs in more than a third of its letters (at least two
// are always allowed) or has nothing in common with the name.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// `; did you mean "adamw"?`, or `; known: a, b, c` when nothing is near, or "" without candidates.
std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tenon::support
