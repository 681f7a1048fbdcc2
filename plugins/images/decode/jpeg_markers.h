// Finds the markers of a JPEG (ITU-T T.81, annex B).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace images {

namespace jpeg {
constexpr uint8_t kEndOfImage = 0xD9;
constexpr uint8_t kStartOfScan = 0xDA;
constexpr uint8_t kApp1 = 0xE1;

// Start of frame is SOF0 to SOF15, except C4, C8 and CC, which are other markers.
constexpr bool is_start_of_frame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}
}  // namespace jpeg

// Returns the position of the next marker code at or after `at`, which is the byte after its 0xFF, or the size of the
// file if there is none. Skips all other bytes before it, like libjpeg.
size_t find_marker(std::span<const uint8_t> file, size_t at);

}  // namespace images
