// Reproducible random numbers per sample. The generator is counter-based: it is cheap to create for each sample, and
// gives the same numbers on every machine and for any number of workers. The algorithm is Philox-4x32-10 of Salmon et
// al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <cstdint>

#include "random.h"

namespace tenon {

// A stream of random numbers that depends only on the seed. It is a UniformRandomBitGenerator of 64 bits. Prefer the
// members below to the distributions of <random>, which give different numbers in different standard libraries.
class Random {
 public:
  using result_type = uint64_t;

  // `stream` separates several uses of one seed, for example geometry and colour.
  explicit Random(uint64_t seed, uint64_t stream = 0) : state_(tenon_random_start(seed, stream)) {}

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }

  // Returns 64 random bits.
  uint64_t operator()() { return tenon_random_bits(&state_); }

  // Returns a uniform number in [0, 1), a multiple of 2^-53.
  double uniform() { return tenon_random_uniform(&state_); }

  // Returns a uniform number in [lower, upper). REQUIRES: lower < upper, both finite.
  double uniform(double lower, double upper) { return lower + (upper - lower) * uniform(); }

  // Returns a normally distributed number with mean 0 and standard deviation 1 (Box and Muller, 1958).
  double normal() { return tenon_random_normal(&state_); }

  double normal(double mean, double deviation) { return mean + deviation * normal(); }

  // Returns a uniform integer in [0, count). REQUIRES: count > 0.
  int64_t integer(int64_t count) { return tenon_random_integer(&state_, count); }

  // Returns true with the given probability.
  bool chance(double probability) { return uniform() < probability; }

 private:
  tenon_random state_;
};

}  // namespace tenon
