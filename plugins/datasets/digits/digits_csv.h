// The file digits.csv as it is, linked into the plugin.
#pragma once

#include <string_view>

namespace digits {

std::string_view digits_csv();

}  // namespace digits
