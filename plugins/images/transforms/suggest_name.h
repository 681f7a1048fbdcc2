// Suggests names of transforms and arguments: "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace images {

// Returns `; did you mean "resize"?` with the nearest name by edit distance, or a name that is contained in `name` or
// contains it. Returns "" if no name is near.
std::string suggest_nearest(std::string_view name, const std::vector<std::string>& known);

// Returns the same, or `; known: a, b, c` if no name is near.
std::string suggest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace images
