// Copies of tensors in host memory: many with one wait for the device, and the pinned memory for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>

namespace tenon::pipeline {

// Copies of tensors on a device are in pinned memory, so that they run without the host. The memory of the copies is
// kept for the next call, until release().
class HostCopies final {
 public:
  // `shares`: contiguous tensors in host memory are not copied.
  explicit HostCopies(bool shares) : shares_(shares) {}
  // If the device has failed, pinned memory stays allocated until the process ends.
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  // Submits the copy of a tensor and returns it: contiguous, in host memory, complete after wait(). `name` selects the
  // memory: a tensor of the same shape and dtype under the same name overwrites the last copy.
  const at::Tensor& add(const std::string& name, const at::Tensor& tensor);

  // Submits the end of the copies. The tensors may be changed afterwards by operators on the current stream.
  void submit();

  // Returns when the copies are complete. May be called on another thread than add() and submit().
  void wait();

  // Returns pinned memory to the system, which no other program could use: that of the copies, and what LibTorch has
  // cached. Invalidates the copies of tensors on a device. Call it after wait(), on the thread that calls add():
  // LibTorch records events on the stream that has copied, which must not be in the recording of a graph. Waits for the
  // device.
  void release();

 private:
  bool keep_if_device_failed();

  bool shares_;
  std::map<std::string, at::Tensor> copies_;
  c10::Device device_ = c10::Device(c10::kCPU);
  std::unique_ptr<c10::Event> arrival_;
};

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
