// The manual page in man(7) markup.
#pragma once

#include <string>

namespace tenon::host {

std::string format_manual(const std::string& version);

}  // namespace tenon::host
