#include "framework/support/digests/crc32c.h"

#include <array>

namespace tenon::support {

namespace {

constexpr std::array<uint32_t, 256> make_table() {
  constexpr uint32_t kReversedPolynomial = 0x82F63B78;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ (remainder & 1 ? kReversedPolynomial : 0);
    table[byte] = remainder;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes) {
  uint32_t remainder = ~uint32_t{0};
  for (const std::byte byte : bytes)
    remainder = (remainder >> 8) ^ kTable[(remainder ^ static_cast<uint32_t>(byte)) & 0xFF];
  return ~remainder;
}

}  // namespace tenon::support
