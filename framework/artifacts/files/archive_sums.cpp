#include "framework/artifacts/files/archive_sums.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "framework/formats/zip_directory.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

std::map<std::string, uint32_t> read_archive_sums(std::span<const std::byte> end, uint64_t offset_of_end,
                                                  const std::string& file) {
  // The contents of all records may have this many bytes even if the file has fewer. torch.jit.save compresses code.
  constexpr uint64_t kMostExpanded = uint64_t{64} << 20;
  const uint64_t size = offset_of_end + end.size();
  const uint64_t most = std::max(size, kMostExpanded);
  const auto read = [&](uint64_t offset, uint64_t count) {
    std::vector<uint8_t> bytes(count);
    if (count > 0) std::memcpy(bytes.data(), end.data() + (offset - offset_of_end), count);
    return bytes;
  };
  std::map<std::string, uint32_t> sums;
  uint64_t left = most;
  try {
    formats::visit_zip_records({size, offset_of_end, read}, [&](const formats::ZipRecord& record) {
      if (record.bytes > left)
        throw support::Error(support::ErrorKind::checkpoint,
                             "{}: the records of the archive have more than {} bytes together; expected a file of "
                             "torch.save, which is not compressed",
                             file, most);
      left -= record.bytes;
      std::string name(record.name);
      name.erase(0, name.find('/') + 1);
      if (!sums.emplace(std::move(name), record.crc32).second) throw std::invalid_argument("a name occurs twice");
    });
  } catch (const std::invalid_argument&) {
    throw support::Error(support::ErrorKind::checkpoint,
                         "{}: the directory of the archive is damaged; expected a file of torch.save", file);
  }
  return sums;
}

}  // namespace tenon::artifacts
