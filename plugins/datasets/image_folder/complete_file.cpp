#include "plugins/datasets/image_folder/complete_file.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace image_folder {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr std::array<uint8_t, 3> kJpegStart = {0xFF, 0xD8, 0xFF};
constexpr std::array<uint8_t, 8> kPngStart = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

bool starts_with(Bytes file, Bytes start) {
  return file.size() >= start.size() && std::equal(start.begin(), start.end(), file.begin());
}

// Position of the next marker code at or after `at`, the byte after its 0xFF; the size of the file if there is none.
size_t find_marker(Bytes file, size_t at) {
  while (at < file.size()) {
    const void* found = std::memchr(file.data() + at, 0xFF, file.size() - at);
    if (!found) break;
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - file.data()) + 1;
    // 00 is a stuffed data byte, D0 to D7 restart the entropy coder, FF is a fill byte: all within a scan.
    if (at < file.size() && file[at] != 0x00 && file[at] != 0xFF && (file[at] < 0xD0 || file[at] > 0xD7)) return at;
  }
  return file.size();
}

bool is_complete_jpeg(Bytes file) {
  constexpr uint8_t kEndOfImage = 0xD9;
  size_t at = find_marker(file, 2);
  while (at < file.size() && file[at] != kEndOfImage) {
    if (at + 2 >= file.size()) return false;
    const size_t length = size_t{file[at + 1]} << 8 | file[at + 2];  // counts its own two bytes
    at = find_marker(file, at + 1 + length);
  }
  return at < file.size();
}

bool is_complete_png(Bytes file) {
  constexpr size_t kAroundData = 12;  // length, type, checksum
  size_t at = kPngStart.size();
  while (file.size() - at >= kAroundData) {
    const size_t length =
        size_t{file[at]} << 24 | size_t{file[at + 1]} << 16 | size_t{file[at + 2]} << 8 | file[at + 3];
    if (std::memcmp(file.data() + at + 4, "IEND", 4) == 0) return true;
    if (length > file.size() - at - kAroundData) return false;
    at += kAroundData + length;
  }
  return false;
}

}  // namespace

Completeness judge_completeness(Bytes file) {
  bool complete = false;
  if (starts_with(file, kJpegStart)) {
    complete = is_complete_jpeg(file);
  } else if (starts_with(file, kPngStart)) {
    complete = is_complete_png(file);
  } else {
    return Completeness::unknown_format;
  }
  return complete ? Completeness::complete : Completeness::truncated;
}

}  // namespace image_folder
