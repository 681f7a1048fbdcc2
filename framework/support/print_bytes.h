// Sizes for messages and tables.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::support {

// Prints a size as "176.1 KiB".
std::string print_bytes(uint64_t bytes);

}  // namespace tenon::support
