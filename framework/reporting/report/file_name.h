// Converts user-defined names to file names.
#pragma once

#include <string>
#include <string_view>

namespace tenon::reporting {

// Keeps letters, digits, dots and hyphens. Replaces each other byte by an underscore.
std::string make_file_name(std::string_view name);

}  // namespace tenon::reporting
