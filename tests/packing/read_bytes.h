// Reads files for comparisons in tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/test_folder.h"

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Returns a path with this name that does not exist.
inline std::filesystem::path make_absent_folder(const std::string& name) {
  const std::filesystem::path folder = tenon::test_folder() / name;
  std::filesystem::remove_all(folder);
  return folder;
}
