// Where the markers of a JPEG are (ITU-T T.81, annex B).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace images {

namespace jpeg {
constexpr uint8_t kEndOfImage = 0xD9;
constexpr uint8_t kStartOfScan = 0xDA;
constexpr uint8_t kApp1 = 0xE1;

// SOF0 to SOF15; C4, C8 and CC among them are other markers.
constexpr bool is_start_of_frame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}
}  // namespace jpeg

// Position of the next marker code at or after `at`, the byte after its 0xFF; the size of the file if there is none.
// Whatever lies before it is passed over, as libjpeg does.
size_t find_marker(std::span<const uint8_t> file, size_t at);

}  // namespace images
