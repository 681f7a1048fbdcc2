#include "framework/support/compute/philox.h"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

using tenon::support::derive_seed;
using tenon::support::philox_4x32_10;
using tenon::support::StreamPurpose;

// The reference vectors from Random123, by the authors of Philox (file kat_vectors, philox4x32 with 10 rounds).
TEST_CASE("Philox gives the reference numbers of its authors") {
  using Four = std::array<uint32_t, 4>;
  CHECK(philox_4x32_10({0, 0, 0, 0}, {0, 0}) == Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t kOnes = 0xffffffff;
  CHECK(philox_4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox_4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a derived seed depends on each of its coordinates") {
  std::set<uint64_t> seeds;
  std::size_t requested = 0;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
    for (const StreamPurpose purpose : {StreamPurpose::shuffle, StreamPurpose::sample, StreamPurpose::worker}) {
      for (const uint32_t a : {0u, 1u, 0xffffffffu}) {
        for (const uint64_t b : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
          seeds.insert(derive_seed(seed, purpose, a, b));
          ++requested;
        }
      }
    }
  }
  CHECK(seeds.size() == requested);
}
