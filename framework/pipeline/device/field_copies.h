// Copies the fields of batches to the device while it computes the batches before.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

namespace tenon::pipeline {

class FieldCopies final {
 public:
  explicit FieldCopies(const c10::Device& device);

  // Replaces the fields by copies on the device. On the CPU they stay as they are. `is_read`: fields that are false
  // here stay in host memory; empty: all are read. The copies go through pinned memory and run on a separate stream,
  // which the current stream waits for. The host does not wait: when this returns, the memory of the fields may be
  // reused.
  void copy(std::vector<at::Tensor>& fields, const std::vector<bool>& is_read) const;

 private:
  c10::Device device_;
  std::optional<c10::Stream> stream_;  // none on the CPU
};

}  // namespace tenon::pipeline
