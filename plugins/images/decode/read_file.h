// A whole file into memory that is used again for the next one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace images {

// Throws tenon::DataError naming the file: it cannot be read, or is empty.
void read_file(const std::string& path, std::vector<uint8_t>& bytes);

}  // namespace images
