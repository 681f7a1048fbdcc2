// The unchanged file digits.csv, linked into the plugin.
#pragma once

#include <string_view>

namespace digits {

std::string_view digits_csv();

}  // namespace digits
