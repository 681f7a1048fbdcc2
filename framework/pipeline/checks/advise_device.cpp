#include "framework/pipeline/checks/advise_device.h"

#include <optional>

#include "framework/pipeline/build/memory_format.h"
#include "framework/support/text/format.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace tenon::pipeline {

namespace {

using config::Precision;

// Padding a small dimension, such as ten classes, costs more than it saves.
constexpr int64_t kSmall = 256;
constexpr int64_t kMultiple = 8;

// Returns "the second dimension of head.weight is 50257" for the first matrix with an unfavourable dimension.
std::optional<std::string> find_odd_matrix(const Training& training) {
  for (const components::NamedTensor& named : training.model.tensors()) {
    if (!named.trainable || named.tensor.dim() != 2) continue;
    for (int64_t i = 0; i < 2; ++i)
      if (const int64_t size = named.tensor.size(i); size >= kSmall && size % kMultiple != 0)
        return fmt::format("the {} dimension of {} is {}", i == 0 ? "first" : "second", named.name, size);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> advise_device(const Training& training, const support::ComputeDevice& device) {
  constexpr int kVolta = 7, kAmpere = 8;
  std::vector<std::string> advice;
  if (!device.is_cuda() || device.capability_major < kVolta) return advice;
  const Precision precision = training.plan->train.precision;
  const bool has_bf16 = device.capability_major >= kAmpere;
  if (precision == Precision::fp32)
    advice.push_back(std::string("fp32 does not use the tensor cores: try train.precision = ") +
                     (has_bf16 ? "\"bf16\", or \"tf32\", which rounds less" : "\"fp16\""));
  const bool is_half = precision != Precision::fp32 && precision != Precision::tf32;
  if (is_half && training.memory_format == config::MemoryFormat::contiguous && !training.model.needs_contiguous() &&
      has_convolutions(training.model.tensors()))
    advice.push_back("convolutions in 16 bits are faster with train.memory_format = \"channels_last\"");
  if (is_half)
    if (const auto odd = find_odd_matrix(training))
      advice.push_back(*odd + ": products in 16 bits are faster with multiples of 8");
  return advice;
}

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
