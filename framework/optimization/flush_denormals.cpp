#include "framework/optimization/flush_denormals.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace tenon::optimization {

namespace {

constexpr uint32_t kSign = 0x80000000, kExponent = 0x7f800000, kFraction = 0x007fffff;

bool has_denormal(std::span<const float> elements) {
  uint32_t found = 0;
  for (const float element : elements) {
    const auto bits = std::bit_cast<uint32_t>(element);
    found |= static_cast<uint32_t>((bits & kExponent) == 0) & static_cast<uint32_t>((bits & kFraction) != 0);
  }
  return found != 0;
}

}  // namespace

// Most parts have no denormal number, and are only read.
void flush_denormals(const at::Tensor& tensor) {
  constexpr size_t kPart = 4096;
  if (!tensor.is_cpu() || tensor.scalar_type() != at::kFloat) return;
  std::span<float> left(tensor.mutable_data_ptr<float>(), static_cast<size_t>(tensor.numel()));
  while (!left.empty()) {
    const std::span<float> part = left.first(std::min(left.size(), kPart));
    left = left.subspan(part.size());
    if (!has_denormal(part)) continue;
    for (float& element : part) {
      const auto bits = std::bit_cast<uint32_t>(element);
      if ((bits & kExponent) == 0) element = std::bit_cast<float>(bits & kSign);
    }
  }
}

}  // namespace tenon::optimization
