// The device memory that the run has used, and how often the host waited for the device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <c10/core/Device.h>

namespace tenon::pipeline {

// Peaks in MiB since reset_peak_memory().
struct PeakMemory {
  double allocated;  // by tensors
  double reserved;   // by LibTorch's allocator, with the memory that it caches
};

// Nothing on the CPU, where the system reports the memory. Neither function synchronises with the device, because the
// allocator runs on the host.
std::optional<PeakMemory> peak_memory(const c10::Device& device);
void reset_peak_memory(const c10::Device& device);

// The bytes of a device that no process uses. Nothing on the CPU.
std::optional<int64_t> free_memory(const c10::Device& device);

// While the object exists, LibTorch's warnings about synchronisations (DeviceLibrary::warn_of_waits) of this thread and
// its backward passes are counted instead of printed.
class CountWaits {
 public:
  CountWaits();
  ~CountWaits();
  CountWaits(const CountWaits&) = delete;
  CountWaits& operator=(const CountWaits&) = delete;

  static int64_t total();  // of this process so far

 private:
  class Handler;
  std::unique_ptr<Handler> handler_;
};

}  // namespace tenon::pipeline
