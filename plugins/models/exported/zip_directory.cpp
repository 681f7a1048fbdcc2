#include "plugins/models/exported/zip_directory.h"

#include <c10/util/safe_numerics.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace exported {
namespace {

constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50, kEntry = 0x02014b50;
constexpr uint64_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20, kEntryBytes = 46, kMostComment = 65535;
constexpr uint16_t kSizes64 = 1;
constexpr uint32_t kIn64 = 0xffffffff;  // the number is elsewhere, with 64 bits

[[noreturn]] void refuse() { throw std::invalid_argument("its directory is missing or damaged"); }

// Bytes of the file, with little-endian numbers as on the host.
class Bytes {
 public:
  Bytes(const components::RegularFile& file, uint64_t offset, uint64_t count) {
    if (offset > file.size() || file.size() - offset < count) refuse();
    bytes_ = file.read(offset, count);
  }

  template <class Number>
  Number at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(Number)) refuse();
    Number number;
    std::memcpy(&number, bytes_.data() + offset, sizeof number);
    return number;
  }

 private:
  std::vector<uint8_t> bytes_;
};

struct Directory {
  uint64_t offset, bytes, entries;
};

// The last signature counts, as for LibTorch's reader.
Directory find_directory(const components::RegularFile& file) {
  const uint64_t count = std::min(file.size(), kEndBytes + kMostComment);
  const Bytes tail(file, file.size() - count, count);
  for (uint64_t place = count < kEndBytes ? 0 : count - kEndBytes + 1; place-- > 0;) {
    if (tail.at<uint32_t>(place) != kEnd) continue;
    const uint64_t end = file.size() - count + place;
    if (end >= kLocator64Bytes + kEnd64Bytes) {
      const Bytes locator(file, end - kLocator64Bytes, kLocator64Bytes);
      if (locator.at<uint32_t>(0) == kLocator64) {
        const Bytes end64(file, locator.at<uint64_t>(8), kEnd64Bytes);
        if (end64.at<uint32_t>(0) == kEnd64)
          return {end64.at<uint64_t>(48), end64.at<uint64_t>(40), end64.at<uint64_t>(32)};
      }
    }
    return {tail.at<uint32_t>(place + 16), tail.at<uint32_t>(place + 12), tail.at<uint16_t>(place + 10)};
  }
  refuse();
}

uint64_t read_record_bytes(const Bytes& directory, uint64_t entry) {
  const auto bytes = directory.at<uint32_t>(entry + 24);
  if (bytes != kIn64) return bytes;
  const uint64_t begin = entry + kEntryBytes + directory.at<uint16_t>(entry + 28);
  const uint64_t end = begin + directory.at<uint16_t>(entry + 30);
  for (uint64_t field = begin; field + 4 <= end; field += 4 + directory.at<uint16_t>(field + 2))
    if (directory.at<uint16_t>(field) == kSizes64) return directory.at<uint64_t>(field + 4);
  return bytes;
}

}  // namespace

uint64_t count_record_bytes(const components::RegularFile& file) {
  const Directory found = find_directory(file);
  const Bytes directory(file, found.offset, found.bytes);
  uint64_t total = 0, entry = 0;
  for (uint64_t i = 0; i < found.entries; ++i) {
    if (directory.at<uint32_t>(entry) != kEntry ||
        c10::add_overflows(total, read_record_bytes(directory, entry), &total))
      refuse();
    entry += kEntryBytes + directory.at<uint16_t>(entry + 28) + directory.at<uint16_t>(entry + 30) +
             directory.at<uint16_t>(entry + 32);
  }
  return total;
}

}  // namespace exported
