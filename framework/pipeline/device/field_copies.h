// Copies the fields of batches to the device while it computes the batches before.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include "framework/pipeline/device/host_copies.h"

namespace tenon::pipeline {

class FieldCopies final {
 public:
  explicit FieldCopies(const c10::Device& device);
  // Waits for the device.
  ~FieldCopies();

  // Replaces the fields by copies on the device. On the CPU they stay as they are. `is_read`: fields that are false
  // here stay in host memory; empty: all are read. The copies go through pinned memory and run on a separate stream,
  // which the current stream waits for. The host does not wait: when this returns, the memory of the fields may be
  // reused. The copies may be used on the current stream.
  void copy(std::vector<at::Tensor>& fields, const std::vector<bool>& is_read);

 private:
  struct Batch;
  Batch& next_batch(const c10::Stream& current);

  c10::Device device_;
  std::optional<c10::Stream> stream_;  // none on the CPU
  std::vector<std::unique_ptr<Batch>> batches_;
  PinnedMemory pinned_;  // the last member: waits for the device before the batches are freed
};

}  // namespace tenon::pipeline
