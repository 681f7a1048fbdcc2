// Host memory for asynchronous copies to and from a device.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace tenon::pipeline {

// Keeps pinned memory for the next copy. LibTorch frees pinned memory that a copy has used with calls of the device. If
// the device has failed, these throw where nothing can catch it, so memory is never freed while the device works.
class PinnedMemory final {
 public:
  explicit PinnedMemory(const c10::Device& device) : device_(device) {}
  // Waits for the device and frees the memory. If the device has failed, the memory stays allocated until the process
  // ends.
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // Returns [n] uint8 with n >= bytes.
  at::Tensor take(int64_t bytes);

  // REQUIRES: no copy that has been submitted still uses the memory, unless this object is destroyed next.
  void give(at::Tensor memory);

 private:
  c10::Device device_;
  std::vector<at::Tensor> free_;
};

// Returns the begin of [n] uint8 as a contiguous tensor. REQUIRES: it is large enough.
at::Tensor view_as(const at::Tensor& memory, at::IntArrayRef sizes, at::ScalarType dtype);

}  // namespace tenon::pipeline
