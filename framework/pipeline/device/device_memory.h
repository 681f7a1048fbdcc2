// The device memory that the run has used.
#pragma once

#include <cstdint>
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

}  // namespace tenon::pipeline
