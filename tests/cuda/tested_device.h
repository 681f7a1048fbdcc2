// The CUDA device of the pipeline tests: the simulated one in test_simulated_device, the device of the machine in
// test_gpu.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/distributed/collectives/process_group.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::tests {

// Returns nothing if the machine has no device. Then there is nothing to test.
std::optional<support::ComputeDevice> tested_device();
std::string no_device();

// NCCL on the device. The simulated one has one rank only.
distributed::ProcessGroup::MakeBackend tested_nccl();

// Returns the number of synchronisations with the device so far.
int64_t device_waits();

// Returns the number of synchronisations during the call.
template <class Body>
int64_t waits_of(const Body& body) {
  const int64_t before = device_waits();
  body();
  return device_waits() - before;
}

}  // namespace tenon::tests
