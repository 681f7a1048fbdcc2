/* Reproducible random numbers per sample. The generator is counter-based: it is cheap to create for each sample, and
 * gives the same numbers on every machine and for any number of workers. The algorithm is Philox-4x32-10 of Salmon et
 * al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. tenon::Random in random.hpp gives the same numbers. All
 * functions are static inline, so they are not part of the ABI.
 *
 *   tenon_random random = tenon_random_start(sample->seed, 0);
 *   double place = tenon_random_uniform(&random); */
#ifndef TENON_RANDOM_H
#define TENON_RANDOM_H

#include <math.h>
#include <stdint.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon_random {
  uint64_t seed;
  uint64_t stream;
  uint64_t block; /* number of generated blocks */
  uint64_t bits[2];
  int32_t unused; /* number of unused words in bits */
} tenon_random;

/* Starts a generator. `stream` separates several uses of one seed, for example geometry and colour. */
TENON_INLINE tenon_random tenon_random_start(uint64_t seed, uint64_t stream) {
  tenon_random random;
  random.seed = seed;
  random.stream = stream;
  random.block = 0;
  random.bits[0] = random.bits[1] = 0;
  random.unused = 0;
  return random;
}

/* Returns 64 random bits. */
TENON_INLINE uint64_t tenon_random_bits(tenon_random* random) {
  if (random->unused == 0) {
    uint32_t counter[4], key[2];
    int round;
    counter[0] = (uint32_t)random->block;
    counter[1] = (uint32_t)(random->block >> 32);
    counter[2] = (uint32_t)random->stream;
    counter[3] = (uint32_t)(random->stream >> 32);
    key[0] = (uint32_t)random->seed;
    key[1] = (uint32_t)(random->seed >> 32);
    for (round = 0; round < 10; ++round) {
      const uint64_t product0 = (uint64_t)0xD2511F53u * counter[0];
      const uint64_t product1 = (uint64_t)0xCD9E8D57u * counter[2];
      counter[0] = (uint32_t)(product1 >> 32) ^ counter[1] ^ key[0];
      counter[1] = (uint32_t)product1;
      counter[2] = (uint32_t)(product0 >> 32) ^ counter[3] ^ key[1];
      counter[3] = (uint32_t)product0;
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    ++random->block;
    random->bits[1] = counter[0] | ((uint64_t)counter[1] << 32);
    random->bits[0] = counter[2] | ((uint64_t)counter[3] << 32);
    random->unused = 2;
  }
  return random->bits[--random->unused];
}

/* Returns a uniform number in [0, 1), a multiple of 2^-53. */
TENON_INLINE double tenon_random_uniform(tenon_random* random) {
  return (double)(tenon_random_bits(random) >> 11) * 0x1p-53;
}

/* Returns a normally distributed number with mean 0 and standard deviation 1 (Box and Muller, 1958). Link libm. */
TENON_INLINE double tenon_random_normal(tenon_random* random) {
  const double radius = sqrt(-2.0 * log(1.0 - tenon_random_uniform(random)));
  return radius * cos(6.283185307179586476925 * tenon_random_uniform(random));
}

/* Returns a uniform integer in [0, count). REQUIRES: count > 0. */
TENON_INLINE int64_t tenon_random_integer(tenon_random* random, int64_t count) {
  const uint64_t range = (uint64_t)count;
  /* The first 2^64 mod range values would be sampled once too often. */
  const uint64_t excess = (~range + 1) % range;
  uint64_t bits = tenon_random_bits(random);
  while (bits < excess) bits = tenon_random_bits(random);
  return (int64_t)(bits % range);
}

#ifdef __cplusplus
}
#endif
#endif
