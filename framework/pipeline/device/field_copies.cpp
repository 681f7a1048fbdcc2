#include "framework/pipeline/device/field_copies.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

namespace tenon::pipeline {

FieldCopies::FieldCopies(const c10::Device& device) : device_(device) {
  if (!device.is_cpu()) stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

void FieldCopies::copy(std::vector<at::Tensor>& fields, const std::vector<bool>& is_read) const {
  if (!stream_) return;
  std::vector<at::Tensor> copies;
  c10::Event arrival(device_.type());
  {
    const c10::StreamGuard copying(*stream_);
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!is_read.empty() && !is_read[i]) continue;
      // LibTorch reuses pinned memory only after the device has read it.
      const at::Tensor staging = at::empty(fields[i].sizes(), fields[i].options().pinned_memory(true));
      staging.copy_(fields[i]);
      fields[i] = staging.to(device_, fields[i].scalar_type(), /*non_blocking=*/true);
      copies.push_back(fields[i]);
    }
    arrival.record(*stream_);
  }
  const c10::Stream current = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  arrival.block(current);
  // The copies were allocated for the other stream, which may reuse their memory only after this one has used it.
  for (const at::Tensor& copy : copies)
    c10::getDeviceAllocator(device_.type())->recordStream(copy.storage().data_ptr(), current);
}

}  // namespace tenon::pipeline
