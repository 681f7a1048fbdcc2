#include "framework/pipeline/device/field_copies.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <algorithm>

namespace tenon::pipeline {

// The copies are allocated for the stream that writes them, which may reuse their memory when they are freed, so a
// batch keeps them until the stream that computes has used them. LibTorch's recordStream() would do the same, but frees
// them with an event. If the device has failed, this throws within a destructor and ends the process.
struct FieldCopies::Batch {
  explicit Batch(c10::DeviceType device) : last_use(device) {}

  bool is_in_use() const {
    return std::ranges::any_of(copies, [](const at::Tensor& copy) {
      return copy.use_count() > 1 || copy.storage().use_count() > 1;  // another reference, or a view
    });
  }

  std::vector<at::Tensor> copies;  // empty: the batch is free
  std::vector<at::Tensor> pinned;  // the source of each copy
  c10::Event last_use;
  bool has_last_use = false;  // the event is recorded
};

FieldCopies::FieldCopies(const c10::Device& device) : device_(device), pinned_(device) {
  if (!device.is_cpu()) stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

FieldCopies::~FieldCopies() {
  for (const std::unique_ptr<Batch>& batch : batches_)
    for (at::Tensor& memory : batch->pinned) pinned_.give(std::move(memory));
}

FieldCopies::Batch& FieldCopies::next_batch(const c10::Stream& current) {
  Batch* next = nullptr;
  for (const std::unique_ptr<Batch>& batch : batches_) {
    if (!batch->copies.empty() && !batch->has_last_use && !batch->is_in_use()) {
      batch->last_use.record(current);
      batch->has_last_use = true;
    } else if (batch->has_last_use && batch->last_use.query()) {
      batch->copies.clear();
      for (at::Tensor& memory : batch->pinned) pinned_.give(std::move(memory));
      batch->pinned.clear();
      batch->has_last_use = false;
    }
    if (batch->copies.empty()) next = batch.get();
  }
  return next ? *next : *batches_.emplace_back(std::make_unique<Batch>(device_.type()));
}

void FieldCopies::copy(std::vector<at::Tensor>& fields, const std::vector<bool>& is_read) {
  if (!stream_) return;
  const c10::Stream current = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  Batch& batch = next_batch(current);
  c10::Event arrival(device_.type());
  {
    const c10::StreamGuard copying(*stream_);
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!is_read.empty() && !is_read[i]) continue;
      batch.pinned.push_back(pinned_.take(static_cast<int64_t>(fields[i].nbytes())));
      const at::Tensor staging = view_as(batch.pinned.back(), fields[i].sizes(), fields[i].scalar_type());
      staging.copy_(fields[i]);
      fields[i] = staging.to(device_, fields[i].scalar_type(), /*non_blocking=*/true);
      batch.copies.push_back(fields[i]);
    }
    arrival.record(*stream_);
  }
  arrival.block(current);
}

}  // namespace tenon::pipeline
