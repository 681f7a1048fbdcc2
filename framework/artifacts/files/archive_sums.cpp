#include "framework/artifacts/files/archive_sums.h"

#include <algorithm>
#include <cstring>

#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

namespace {

constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50, kEntry = 0x02014b50;
constexpr size_t kEndBytes = 22, kLocator64Bytes = 20, kEntryBytes = 46;
constexpr size_t kMostComment = 65535;
constexpr uint16_t kSizes64 = 1;        // an extra field
constexpr uint32_t kIn64 = 0xffffffff;  // the number is in the extra field, with 64 bits
// The contents of all records may have this many bytes even if the file has fewer. torch.jit.save compresses code.
constexpr uint64_t kMostExpanded = uint64_t{64} << 20;

struct Directory {
  uint64_t offset;
  uint64_t entries;
};

class Archive {
 public:
  Archive(std::span<const std::byte> bytes, uint64_t offset, const std::string& file)
      : bytes_(bytes), offset_(offset), file_(file) {}

  [[noreturn]] void refuse() const {
    throw support::Error(support::ErrorKind::checkpoint,
                         file_ + ": the directory of the archive is damaged; expected a file of torch.save");
  }

  // Little-endian, as the host.
  template <class Number>
  Number at(uint64_t offset) const {
    Number number;
    std::memcpy(&number, find(offset, sizeof number), sizeof number);
    return number;
  }

  std::string text(uint64_t offset, size_t length) const {
    return {reinterpret_cast<const char*>(find(offset, length)), length};
  }

  // The size of a record's contents.
  uint64_t read_content_bytes(uint64_t entry) const {
    const auto bytes = at<uint32_t>(entry + 24);
    if (bytes != kIn64) return bytes;
    const uint64_t begin = entry + kEntryBytes + at<uint16_t>(entry + 28);
    const uint64_t end = begin + at<uint16_t>(entry + 30);
    for (uint64_t field = begin; field + 4 <= end; field += 4 + at<uint16_t>(field + 2))
      if (at<uint16_t>(field) == kSizes64) return at<uint64_t>(field + 4);
    return bytes;
  }

  // Searches backwards for the record at the end, which a comment may follow. The last signature counts, as for
  // LibTorch's reader, so that both read the same directory.
  Directory find_directory() const {
    for (size_t comment = 0; comment <= kMostComment && comment + kEndBytes <= bytes_.size(); ++comment) {
      const uint64_t end = offset_ + bytes_.size() - kEndBytes - comment;
      if (at<uint32_t>(end) != kEnd) continue;
      if (end - offset_ >= kLocator64Bytes && at<uint32_t>(end - kLocator64Bytes) == kLocator64) {
        const auto end64 = at<uint64_t>(end - kLocator64Bytes + 8);
        if (at<uint32_t>(end64) != kEnd64) refuse();
        return {at<uint64_t>(end64 + 48), at<uint64_t>(end64 + 32)};
      }
      return {at<uint32_t>(end + 16), at<uint16_t>(end + 10)};
    }
    refuse();
  }

 private:
  // The bytes at an offset of the archive.
  const std::byte* find(uint64_t offset, size_t length) const {
    if (offset < offset_ || offset - offset_ > bytes_.size() || bytes_.size() - (offset - offset_) < length) refuse();
    return bytes_.data() + (offset - offset_);
  }

  std::span<const std::byte> bytes_;
  uint64_t offset_;
  const std::string& file_;
};

}  // namespace

std::map<std::string, uint32_t> read_archive_sums(std::span<const std::byte> end, uint64_t offset_of_end,
                                                  const std::string& file) {
  const Archive reader(end, offset_of_end, file);
  const Directory directory = reader.find_directory();
  const uint64_t most = std::max(offset_of_end + end.size(), kMostExpanded);
  std::map<std::string, uint32_t> sums;
  uint64_t offset = directory.offset, left = most;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (reader.at<uint32_t>(offset) != kEntry) reader.refuse();
    const uint64_t bytes = reader.read_content_bytes(offset);
    if (bytes > left)
      throw support::Error(support::ErrorKind::checkpoint,
                           file + ": the records of the archive have more than " + std::to_string(most) +
                               " bytes together; expected a file of torch.save, which is not compressed");
    left -= bytes;
    const auto name_length = reader.at<uint16_t>(offset + 28);
    std::string name = reader.text(offset + kEntryBytes, name_length);
    name.erase(0, name.find('/') + 1);
    if (!sums.emplace(std::move(name), reader.at<uint32_t>(offset + 16)).second) reader.refuse();
    offset += kEntryBytes + name_length + reader.at<uint16_t>(offset + 30) + reader.at<uint16_t>(offset + 32);
  }
  return sums;
}

}  // namespace tenon::artifacts
