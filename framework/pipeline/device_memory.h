// Reports the device memory that the run has used.
#pragma once

#include <optional>

#include <c10/core/Device.h>

namespace tenon::pipeline {

// The peak memory of tensors since the process started, in MiB. Nothing on the CPU, where the system reports the
// memory. Does not synchronise with the device, because the allocator runs on the host.
std::optional<double> peak_memory_mib(const c10::Device& device);

}  // namespace tenon::pipeline
