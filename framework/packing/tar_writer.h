// Writes reproducible tar files: POSIX ustar without times and owners. Names longer than 100 bytes have a pax header
// (POSIX.1-2001).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "framework/artifacts/files/durable_file.h"

namespace tenon::packing {

// Returns the size of a member in the file in bytes, including its headers.
uint64_t count_member_bytes(const std::string& name, uint64_t size);

class TarWriter {
 public:
  // The file has a temporary name until finish(). The constructor and all functions throw Error(data) with the path and
  // the reason of the system.
  explicit TarWriter(const std::filesystem::path& path) : file_(path, support::ErrorKind::data) {}

  void add(const std::string& name, std::span<const std::byte> content);
  // Writes the end of the archive and renames the file to its final name.
  void finish();

  uint64_t bytes() const { return bytes_; }  // so far

 private:
  void add_entry(const std::string& name, std::span<const std::byte> content, char type);
  void pad();

  artifacts::DurableFile file_;
  uint64_t bytes_ = 0;
};

}  // namespace tenon::packing
