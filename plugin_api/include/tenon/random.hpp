// Random numbers that belong to the sample: a counter-based generator, cheap to make anew for each sample, equal on
// every machine and for any number of workers. Philox-4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3", SC 2011.
#pragma once

#include <cstdint>

#include "random.h"

namespace tenon {

// A stream of numbers that depends on the seed alone. It is a UniformRandomBitGenerator of 64 bits; the members below
// are preferable to the distributions of <random>, whose numbers differ between standard libraries.
class Random {
 public:
  using result_type = uint64_t;

  // `stream` separates several uses of one seed, for instance geometry and colour.
  explicit Random(uint64_t seed, uint64_t stream = 0) : state_(tenon_random_start(seed, stream)) {}

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }

  // 64 random bits.
  uint64_t operator()() { return tenon_random_bits(&state_); }

  // In [0, 1), in steps of 2^-53.
  double uniform() { return tenon_random_uniform(&state_); }

  // In [lower, upper). REQUIRES: lower < upper, both finite.
  double uniform(double lower, double upper) { return lower + (upper - lower) * uniform(); }

  // Mean 0 and standard deviation 1 (Box and Muller, 1958).
  double normal() { return tenon_random_normal(&state_); }

  double normal(double mean, double deviation) { return mean + deviation * normal(); }

  // In [0, count), each equally likely. REQUIRES: count > 0.
  int64_t integer(int64_t count) { return tenon_random_integer(&state_, count); }

  // True with the given probability.
  bool chance(double probability) { return uniform() < probability; }

 private:
  tenon_random state_;
};

}  // namespace tenon
