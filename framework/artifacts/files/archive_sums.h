// The checksums in the directory of a zip archive (PKWARE, .ZIP File Format Specification 6.3.10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace tenon::artifacts {

// The directory is within this many bytes at the end of the archive.
inline constexpr uint64_t kArchiveEndBytes = uint64_t{8} << 20;

// The CRC-32 of each record's contents, by its name without the folder of the archive: "data.pkl". LibTorch's reader
// does not compare them. `end`: the end of the archive, which begins at byte `offset` of it. Throws Error(checkpoint)
// naming `file` if the directory is damaged or not within `end`, or if the records would fill more memory than the
// file: they are compressed or overlap.
std::map<std::string, uint32_t> read_archive_sums(std::span<const std::byte> end, uint64_t offset,
                                                  const std::string& file);

}  // namespace tenon::artifacts
