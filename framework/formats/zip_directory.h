// The directory at the end of a zip archive (PKWARE, .ZIP File Format Specification 6.3.10). The archive is untrusted.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace formats {

struct ZipRecord {
  std::string_view name;
  uint32_t crc32;  // of the contents
  uint64_t bytes;  // of the contents, after decompression
};

struct ZipArchive {
  uint64_t size;   // in bytes
  uint64_t begin;  // of the part at its end that can be read, which has the directory
  std::function<std::vector<uint8_t>(uint64_t offset, uint64_t count)> read;
};

// Calls `visit` for each record of the directory. Throws std::invalid_argument if the directory is missing, damaged or
// outside of the part that can be read.
void visit_zip_records(const ZipArchive& archive, const std::function<void(const ZipRecord&)>& visit);

}  // namespace formats
