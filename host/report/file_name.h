// Names that people gave, as names of files.
#pragma once

#include <string>
#include <string_view>

namespace tenon::host {

// Letters, digits, dots and hyphens stay; each other byte becomes an underscore.
std::string make_file_name(std::string_view name);

}  // namespace tenon::host
