// The manual page, in the language of man(7).
#pragma once

#include <string>

namespace tenon::host {

std::string print_manual(const std::string& version);

}  // namespace tenon::host
