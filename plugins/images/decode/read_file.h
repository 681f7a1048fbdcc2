// Reads whole files into reusable memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace images {

// Throws tenon::DataError naming the file if it cannot be read, is not a regular file, is empty, or has more than
// INT_MAX bytes.
void read_file(const std::string& path, std::vector<uint8_t>& bytes);

}  // namespace images
