#include "framework/pipeline/device/host_copies.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/accumulate.h>
#include <torch/types.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

namespace tenon::pipeline {

// LibTorch frees pinned memory with calls of the device, which throw in a destructor if it has failed.
bool HostCopies::keep_if_device_failed() {
  try {
    submit();
    return false;
  } catch (const std::exception&) {
    static auto* const kept = new std::vector<std::map<std::string, at::Tensor>>;
    kept->push_back(std::move(copies_));
    copies_.clear();
    return true;
  }
}

HostCopies::~HostCopies() {
  if (!device_.is_cpu()) keep_if_device_failed();
}

void HostCopies::release() {
  if (device_.is_cpu() || keep_if_device_failed()) return;
  copies_.clear();
  submit();
  wait();  // so that the allocator finds its events complete
  // Nothing if LibTorch does not cache the pinned memory of this device.
  auto* const allocator =
      dynamic_cast<at::HostAllocator*>(at::globalContext().getPinnedMemoryAllocator(device_.type()));
  if (allocator) allocator->empty_cache();
}

const at::Tensor& HostCopies::add(const std::string& name, const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const at::Tensor source = tensor.detach();
  at::Tensor& copy = copies_[name];
  if (source.is_cpu() && shares_) return copy = source.contiguous();
  if (!source.is_cpu()) device_ = source.device();
  if (!copy.defined() || copy.sizes() != source.sizes() || copy.scalar_type() != source.scalar_type())
    copy = at::empty(source.sizes(), at::TensorOptions().dtype(source.scalar_type()).pinned_memory(!source.is_cpu()));
  return copy.copy_(source, /*non_blocking=*/true);
}

void HostCopies::submit() {
  if (device_.is_cpu()) return;
  arrival_ = std::make_unique<c10::Event>(device_.type());
  arrival_->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
}

void HostCopies::wait() {
  if (arrival_) arrival_->synchronize();
  arrival_.reset();
}

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
