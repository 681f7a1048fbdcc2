#include "framework/pipeline/device/pinned_memory.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/accumulate.h>
#include <torch/types.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

namespace tenon::pipeline {

PinnedMemory::~PinnedMemory() {
  if (free_.empty()) return;
  try {
    c10::impl::VirtualGuardImpl(device_.type()).synchronizeDevice(device_.index());
  } catch (const std::exception&) {
    static auto* const kept = new std::vector<std::vector<at::Tensor>>;
    kept->push_back(std::move(free_));
  }
}

// Sizes are powers of two, as in LibTorch's allocator, so that batches of varying length use the same memory.
at::Tensor PinnedMemory::take(int64_t bytes) {
  const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(bytes, 64))));
  const auto found = std::ranges::find_if(free_, [&](const at::Tensor& memory) { return memory.numel() == size; });
  if (found == free_.end()) return at::empty({size}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
  at::Tensor memory = std::move(*found);
  free_.erase(found);
  return memory;
}

void PinnedMemory::give(at::Tensor memory) { free_.push_back(std::move(memory)); }

at::Tensor view_as(const at::Tensor& memory, at::IntArrayRef sizes, at::ScalarType dtype) {
  const auto bytes = c10::multiply_integers(sizes) * static_cast<int64_t>(c10::elementSize(dtype));
  return memory.narrow(0, 0, bytes).view(dtype).view(sizes);
}

}  // namespace tenon::pipeline
