// A memory-mapped file. The system loads the pages that are accessed, and all processes share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace datasets {

// The file must not be shortened while it is mapped: reading beyond its end kills the process.
class MappedFile {
 public:
  // Throws tenon::DataError naming the file if it cannot be read, is not a regular file, or is empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace datasets
