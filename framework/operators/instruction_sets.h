// Kernels that are compiled for several instruction sets.
#pragma once

// The loops are written once. Wrappers compile them for one instruction set each, and so must inline them.
#define TENON_INLINE __attribute__((always_inline)) inline

namespace tenon::operators {

#if defined(__x86_64__)
inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

}  // namespace tenon::operators
