#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tenon::support {

// Returns the bytes of a file. None if it cannot be read.
inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace tenon::support
