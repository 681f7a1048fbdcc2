#include "framework/formats/zip_directory.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace formats {
namespace {

constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50, kEntry = 0x02014b50;
constexpr uint64_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20, kEntryBytes = 46, kMostComment = 65535;
constexpr uint16_t kSizes64 = 1;        // an extra field
constexpr uint32_t kIn64 = 0xffffffff;  // the number is in the extra field, with 64 bits

[[noreturn]] void refuse() { throw std::invalid_argument("its directory is missing or damaged"); }

// A part of the archive, with little-endian numbers as on the host.
class Part {
 public:
  Part(const ZipArchive& archive, uint64_t offset, uint64_t count) {
    if (offset < archive.begin || offset > archive.size || archive.size - offset < count) refuse();
    bytes_ = archive.read(offset, count);
  }

  template <class Number>
  Number at(uint64_t offset) const {
    Number number;
    std::memcpy(&number, text(offset, sizeof number).data(), sizeof number);
    return number;
  }

  std::string_view text(uint64_t offset, uint64_t length) const {
    if (offset > bytes_.size() || bytes_.size() - offset < length) refuse();
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, length};
  }

 private:
  std::vector<uint8_t> bytes_;
};

struct Directory {
  uint64_t offset, bytes, entries;
};

// Searches backwards for the record at the end, which a comment may follow. The last signature counts, as for
// LibTorch's reader, so that both read the same directory.
Directory find_directory(const ZipArchive& archive) {
  const uint64_t count = std::min(archive.size - archive.begin, kEndBytes + kMostComment);
  const Part tail(archive, archive.size - count, count);
  for (uint64_t place = count < kEndBytes ? 0 : count - kEndBytes + 1; place-- > 0;) {
    if (tail.at<uint32_t>(place) != kEnd) continue;
    const uint64_t end = archive.size - count + place;
    if (end - archive.begin >= kLocator64Bytes + kEnd64Bytes) {
      const Part locator(archive, end - kLocator64Bytes, kLocator64Bytes);
      if (locator.at<uint32_t>(0) == kLocator64) {
        const Part end64(archive, locator.at<uint64_t>(8), kEnd64Bytes);
        if (end64.at<uint32_t>(0) == kEnd64)
          return {end64.at<uint64_t>(48), end64.at<uint64_t>(40), end64.at<uint64_t>(32)};
      }
    }
    return {tail.at<uint32_t>(place + 16), tail.at<uint32_t>(place + 12), tail.at<uint16_t>(place + 10)};
  }
  refuse();
}

uint64_t read_content_bytes(const Part& directory, uint64_t entry) {
  const auto bytes = directory.at<uint32_t>(entry + 24);
  if (bytes != kIn64) return bytes;
  const uint64_t begin = entry + kEntryBytes + directory.at<uint16_t>(entry + 28);
  const uint64_t end = begin + directory.at<uint16_t>(entry + 30);
  for (uint64_t field = begin; field + 4 <= end; field += 4 + directory.at<uint16_t>(field + 2))
    if (directory.at<uint16_t>(field) == kSizes64) return directory.at<uint64_t>(field + 4);
  return bytes;
}

}  // namespace

void visit_zip_records(const ZipArchive& archive, const std::function<void(const ZipRecord&)>& visit) {
  const Directory found = find_directory(archive);
  const Part directory(archive, found.offset, found.bytes);
  uint64_t entry = 0;
  for (uint64_t i = 0; i < found.entries; ++i) {
    if (directory.at<uint32_t>(entry) != kEntry) refuse();
    const auto name_length = directory.at<uint16_t>(entry + 28);
    visit({directory.text(entry + kEntryBytes, name_length), directory.at<uint32_t>(entry + 16),
           read_content_bytes(directory, entry)});
    entry += kEntryBytes + name_length + directory.at<uint16_t>(entry + 30) + directory.at<uint16_t>(entry + 32);
  }
}

}  // namespace formats
