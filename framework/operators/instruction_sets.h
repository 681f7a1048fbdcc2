// Kernels that are compiled for several instruction sets.
#pragma once

// The loops are written once. Wrappers compile them for one instruction set each, and so must inline them.
#define TENON_INLINE __attribute__((always_inline)) inline

namespace tenon::operators {

#if defined(__x86_64__)

#define TENON_AVX2 __attribute__((target("avx2,fma")))
#if defined(__clang__)  // clang 14 does not know this preference
#define TENON_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#else
#define TENON_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")))
#endif

inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

inline bool has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has;
}

#endif

}  // namespace tenon::operators
