#include "framework/support/digests/crc32c.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string_view>
#include <vector>

using tenon::support::crc32c;

namespace {

uint32_t crc32c_of(const std::vector<uint8_t>& bytes) { return crc32c(std::as_bytes(std::span(bytes))); }

}  // namespace

TEST_CASE("CRC-32C gives the values of RFC 3720, B.4") {
  std::vector<uint8_t> rising(32), falling(32);
  std::iota(rising.begin(), rising.end(), uint8_t{0});
  std::iota(falling.rbegin(), falling.rend(), uint8_t{0});
  CHECK(crc32c_of(std::vector<uint8_t>(32, 0x00)) == 0x8A9136AA);
  CHECK(crc32c_of(std::vector<uint8_t>(32, 0xFF)) == 0x62A8AB43);
  CHECK(crc32c_of(rising) == 0x46DD794E);
  CHECK(crc32c_of(falling) == 0x113FDB5C);
}

TEST_CASE("CRC-32C of nothing and of the usual check string") {
  CHECK(crc32c({}) == 0);
  const std::string_view digits = "123456789";
  CHECK(crc32c(std::as_bytes(std::span(digits))) == 0xE3069283);
}
