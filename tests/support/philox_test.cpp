#include "framework/support/compute/philox.h"

#include <doctest/doctest.h>

#include <set>

namespace tenon::support {

TEST_CASE("Philox matches the known answers of the library of its authors") {
  using Block = std::array<uint32_t, 4>;
  constexpr uint32_t kOnes = 0xffffffff;
  CHECK(philox_4x32_10({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox_4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox_4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("every coordinate of a seed changes it") {
  constexpr uint64_t kHigh = uint64_t{1} << 32;
  const std::set<uint64_t> seeds = {
      derive_seed(1, StreamPurpose::sample, 2, 3),         derive_seed(2, StreamPurpose::sample, 2, 3),
      derive_seed(1 + kHigh, StreamPurpose::sample, 2, 3), derive_seed(1, StreamPurpose::shuffle, 2, 3),
      derive_seed(1, StreamPurpose::sample, 3, 3),         derive_seed(1, StreamPurpose::sample, 2, 4),
      derive_seed(1, StreamPurpose::sample, 2, 3 + kHigh),
  };
  CHECK(seeds.size() == 7);
  CHECK(derive_seed(1, StreamPurpose::sample, 2, 3) == derive_seed(1, StreamPurpose::sample, 2, 3));
}

}  // namespace tenon::support
