// The CUDA device that the tests of the pipeline on a device are for: one of host memory in the program
// test_simulated_device, the machine's own in test_gpu.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/support/compute_device.h"

namespace tenon::tests {

// None where the machine has none, which no_device() explains: there is nothing to test then.
std::optional<support::ComputeDevice> tested_device();
std::string no_device();

// How often, so far, the host has waited for the device.
int64_t device_waits();

}  // namespace tenon::tests
