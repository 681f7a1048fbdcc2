// "Did you mean ...?" for the names of transforms and of their arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace images {

// `; did you mean "resize"?` with the name that is nearest by edit distance, or that is contained in `name` or contains
// it; "" where none is near.
std::string suggest_nearest(std::string_view name, const std::vector<std::string>& known);

// The same, or `; known: a, b, c` where none is near.
std::string suggest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace images
