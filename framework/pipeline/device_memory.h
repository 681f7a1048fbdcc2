// How much of a device's memory the run has used.
#pragma once

#include <optional>

#include <c10/core/Device.h>

namespace tenon::pipeline {

// In MiB, the most that tensors took at once since the process began. None on the CPU, whose memory the system counts.
// Does not wait for the device: the allocator is the host's.
std::optional<double> peak_memory_mib(const c10::Device& device);

}  // namespace tenon::pipeline
