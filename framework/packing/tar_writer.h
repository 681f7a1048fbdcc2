// Tar files that depend on their members alone: POSIX ustar, with a pax header (POSIX.1-2001) where a name is longer
// than 100 bytes. No time, no owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "framework/artifacts/durable_file.h"

namespace tenon::packing {

// Bytes that a member takes in the file, with its headers.
uint64_t count_member_bytes(const std::string& name, uint64_t size);

class TarWriter {
 public:
  // Under a temporary name until finish(). Throws Error(data), as all functions do, with the path and the system's
  // reason.
  explicit TarWriter(const std::filesystem::path& path) : file_(path, support::ErrorKind::data) {}

  void add(const std::string& name, std::span<const std::byte> content);
  // Writes the end of the archive and puts the file under its name.
  void finish();

  uint64_t bytes() const { return bytes_; }  // so far

 private:
  void add_entry(const std::string& name, std::span<const std::byte> content, char type);
  void pad();

  artifacts::DurableFile file_;
  uint64_t bytes_ = 0;
};

}  // namespace tenon::packing
