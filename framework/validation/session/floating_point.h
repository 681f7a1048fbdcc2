// The floating-point modes of this thread: rounding and the handling of subnormal numbers.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tenon::validation {

// Saves the modes and restores them at the end of the scope.
class FloatingPointModes {
 public:
  FloatingPointModes() { std::fegetenv(&before_); }
  FloatingPointModes(const FloatingPointModes&) = delete;
  FloatingPointModes& operator=(const FloatingPointModes&) = delete;
  ~FloatingPointModes() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_{};
};

// The modes as a number, without the exception flags.
inline uint32_t floating_point_modes() {
  uint32_t modes = static_cast<uint32_t>(std::fegetround());
#if defined(__x86_64__)
  constexpr uint32_t kFlags = 0x3F;
  modes ^= (_mm_getcsr() & ~kFlags) << 8;
#endif
  return modes;
}

}  // namespace tenon::validation
