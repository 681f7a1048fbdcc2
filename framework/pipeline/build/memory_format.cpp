#include "framework/pipeline/build/memory_format.h"

#include <algorithm>

namespace tenon::pipeline {

using config::MemoryFormat;
using config::Precision;

bool has_convolutions(const std::vector<components::NamedTensor>& tensors) {
  constexpr int64_t kDimensions = 4;  // output channels, input channels, height, width
  return std::ranges::any_of(tensors, [](const auto& named) { return named.tensor.dim() == kDimensions; });
}

MemoryFormat choose_memory_format(const config::TrainSection& plan, const std::vector<components::NamedTensor>& tensors,
                                  bool needs_contiguous, const c10::Device& device) {
  if (plan.memory_format != MemoryFormat::automatic) return plan.memory_format;
  const bool is_wide = plan.precision == Precision::fp32 || plan.precision == Precision::tf32;
  if (needs_contiguous || !has_convolutions(tensors) || (!device.is_cpu() && is_wide)) return MemoryFormat::contiguous;
  return MemoryFormat::channels_last;
}

}  // namespace tenon::pipeline
