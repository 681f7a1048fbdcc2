#include "plugins/images/decode/complete_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "plugins/images/decode/jpeg_markers.h"

namespace images {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr std::array<uint8_t, 3> kJpegStart = {0xFF, 0xD8, 0xFF};
constexpr std::array<uint8_t, 8> kPngStart = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
constexpr std::array<uint8_t, 4> kRiffStart = {'R', 'I', 'F', 'F'};

bool starts_with(Bytes file, Bytes start) {
  return file.size() >= start.size() && std::equal(start.begin(), start.end(), file.begin());
}

bool is_complete_jpeg(Bytes file) {
  size_t components = 0;
  size_t at = find_marker(file, 2);
  while (at < file.size() && file[at] != jpeg::kEndOfImage) {
    if (at + 2 >= file.size()) return false;
    const size_t length = size_t{file[at + 1]} << 8 | file[at + 2];  // includes its two bytes
    // Progressive frames are excluded, because they have many scans.
    if ((file[at] == 0xC0 || file[at] == 0xC1) && at + 8 < file.size()) components = file[at + 8];
    // A scan of all components is the only scan of its frame, so only coded data and the end marker follow it. Coded
    // data never contain that marker, so most files need no walk through them.
    const bool is_only_scan = file[at] == jpeg::kStartOfScan && at + 3 < file.size() && file[at + 3] == components;
    if (is_only_scan && at + 1 + length + 2 <= file.size() && file[file.size() - 2] == 0xFF &&
        file.back() == jpeg::kEndOfImage) {
      return true;
    }
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

bool is_complete_webp(Bytes file) {
  const size_t length = file[4] | size_t{file[5]} << 8 | size_t{file[6]} << 16 | size_t{file[7]} << 24;
  return file.size() - 8 >= length;
}

}  // namespace

size_t find_marker(Bytes file, size_t at) {
  while (at < file.size()) {
    const void* found = std::memchr(file.data() + at, 0xFF, file.size() - at);
    if (!found) break;
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - file.data()) + 1;
    // Within a scan, 00 is a stuffed data byte, D0 to D7 restart the entropy coder, and FF is a fill byte.
    if (at < file.size() && file[at] != 0x00 && file[at] != 0xFF && (file[at] < 0xD0 || file[at] > 0xD7)) return at;
  }
  return file.size();
}

Completeness check_completeness(Bytes file) {
  bool complete = false;
  if (starts_with(file, kJpegStart)) {
    complete = is_complete_jpeg(file);
  } else if (starts_with(file, kPngStart)) {
    complete = is_complete_png(file);
  } else if (starts_with(file, kRiffStart) && file.size() >= 12 && std::memcmp(file.data() + 8, "WEBP", 4) == 0) {
    complete = is_complete_webp(file);
  } else {
    return Completeness::unknown_format;
  }
  return complete ? Completeness::complete : Completeness::truncated;
}

}  // namespace images
