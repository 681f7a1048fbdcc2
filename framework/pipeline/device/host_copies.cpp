#include "framework/pipeline/device/host_copies.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <exception>
#include <utility>
#include <vector>

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

}  // namespace tenon::pipeline
