// Writes a file to the folder of the test.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/test_folder.h"

namespace tenon::support {

inline std::filesystem::path write_file(const std::string& name, const std::string& bytes) {
  const auto file = tenon::test_folder() / name;
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

}  // namespace tenon::support
