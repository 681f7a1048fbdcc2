// The modes of floating-point arithmetic of a thread: rounding, the handling of denormals, and masked exceptions.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tenon::support {

// Takes a few cycles. The flags of exceptions that occurred are left out.
inline uint64_t read_arithmetic_modes() {
#if defined(__x86_64__)
  constexpr uint32_t kFlags = 0x3F;
  return _mm_getcsr() & ~kFlags;
#elif defined(__aarch64__)
  uint64_t modes = 0;
  asm volatile("mrs %0, fpcr" : "=r"(modes));
  return modes;
#else
  return static_cast<uint64_t>(std::fegetround());
#endif
}

// `modes`: from read_arithmetic_modes().
inline void set_arithmetic_modes(uint64_t modes) {
#if defined(__x86_64__)
  constexpr uint64_t kRounding = 0x6000;
  // Also sets the rounding of the x87 registers, which long double uses. They have the same numbers, at other bits.
  std::fesetround(static_cast<int>((modes & kRounding) >> 3));
  _mm_setcsr(static_cast<uint32_t>(modes));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(modes));
#else
  std::fesetround(static_cast<int>(modes));
#endif
}

}  // namespace tenon::support
