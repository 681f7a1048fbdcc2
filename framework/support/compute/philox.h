// Counter-based random numbers: Philox-4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011. Each number of a stream depends only on its key and position, so no state has to be saved or replayed.
#pragma once

#include <array>
#include <cstdint>

namespace tenon::support {

// Returns the 128 random bits at `counter` of the stream `key`.
constexpr std::array<uint32_t, 4> philox_4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// The purpose of a stream. Streams of different purposes never share numbers.
enum class StreamPurpose : uint32_t {
  shuffle = 1,
  sample = 2,
  worker = 3,
  initial_weights = 4,
  training = 5,
  dataset = 6,
  frame = 7,
  batch_order = 8,
  batch = 9,
  generation = 10,
  repetition = 11
};

// Returns 64 random bits for (seed, purpose, a, b): for instance (dataset seed, sample, epoch, index). a < 2^32, b <
// 2^64.
constexpr uint64_t derive_seed(uint64_t seed, StreamPurpose purpose, uint32_t a, uint64_t b) {
  const auto bits =
      philox_4x32_10({static_cast<uint32_t>(b), static_cast<uint32_t>(b >> 32), a, static_cast<uint32_t>(purpose)},
                     {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return bits[0] | (uint64_t{bits[1]} << 32);
}

}  // namespace tenon::support
