// CRC-32C with Castagnoli's polynomial: RFC 3720, 12.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::support {

uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace tenon::support
