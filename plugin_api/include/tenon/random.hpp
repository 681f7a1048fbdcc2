// Random numbers that belong to the sample: a counter-based generator, cheap to make anew for each sample, equal on
// every machine and for any number of workers. Philox-4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3", SC 2011.
#pragma once

#include <cmath>
#include <cstdint>

namespace tenon {

// A stream of numbers that depends on the seed alone. It is a UniformRandomBitGenerator of 64 bits; the members below
// are preferable to the distributions of <random>, whose numbers differ between standard libraries.
class Random {
 public:
  using result_type = uint64_t;

  // `stream` separates several uses of one seed, for instance geometry and colour.
  explicit Random(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }

  // 64 random bits.
  uint64_t operator()() {
    if (unused_ == 0) refill();
    return bits_[--unused_];
  }

  // In [0, 1), in steps of 2^-53.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

  // In [lower, upper). REQUIRES: lower < upper, both finite.
  double uniform(double lower, double upper) { return lower + (upper - lower) * uniform(); }

  // Mean 0 and standard deviation 1 (Box and Muller, 1958).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586476925 * uniform());
  }

  double normal(double mean, double deviation) { return mean + deviation * normal(); }

  // In [0, count), each equally likely. REQUIRES: count > 0.
  int64_t integer(int64_t count) {
    const auto range = static_cast<uint64_t>(count);
    // The first 2^64 mod range values would be drawn once too often.
    const uint64_t excess = (~range + 1) % range;
    uint64_t bits = (*this)();
    while (bits < excess) bits = (*this)();
    return static_cast<int64_t>(bits % range);
  }

  // True with the given probability.
  bool chance(double probability) { return uniform() < probability; }

 private:
  void refill() {
    uint32_t counter[4] = {static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32),
                           static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)};
    uint32_t key[2] = {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)};
    for (int round = 0; round < 10; ++round) {
      const uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
      const uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
      counter[0] = static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0];
      counter[1] = static_cast<uint32_t>(product1);
      counter[2] = static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1];
      counter[3] = static_cast<uint32_t>(product0);
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    ++block_;
    bits_[1] = counter[0] | (uint64_t{counter[1]} << 32);
    bits_[0] = counter[2] | (uint64_t{counter[3]} << 32);
    unused_ = 2;
  }

  uint64_t seed_;
  uint64_t stream_;
  uint64_t block_ = 0;
  uint64_t bits_[2] = {0, 0};
  int unused_ = 0;
};

}  // namespace tenon
