#include "framework/pipeline/checks/cpu_bf16.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace tenon::pipeline {

bool cpu_has_bf16() {
#if defined(__x86_64__)
  // Intel, "Architecture Instruction Set Extensions", CPUID leaf 7. clang 14 has no names for these features.
  constexpr unsigned kAvx512Bf16 = 1u << 5, kAmxBf16 = 1u << 22;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & kAmxBf16) != 0) return true;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & kAvx512Bf16) != 0;
#elif defined(__aarch64__)
  constexpr unsigned long kBf16 = 1ul << 14;  // HWCAP2_BF16, which older headers lack
  return (getauxval(AT_HWCAP2) & kBf16) != 0;
#else
  return false;
#endif
}

}  // namespace tenon::pipeline
