// A file in memory without being read: the system loads the pages that are looked at, and all processes share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace datasets {

// Nobody may shorten the file meanwhile: reading beyond its end ends the process.
class MappedFile {
 public:
  // Throws tenon::DataError naming the file: it cannot be read, is no regular file, or is empty.
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
