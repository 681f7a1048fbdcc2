// The tested device, or a message that it is missing.
#pragma once

#include <optional>

#include "tests/cuda/tested_device.h"
#include "tests/doctest_with_torch.h"

namespace tenon::tests {

// Returns nothing if the machine has no device. Each test then prints one message.
inline std::optional<support::ComputeDevice> find_device() {
  const auto device = tested_device();
  if (!device) MESSAGE("skipped, no CUDA device: " << no_device());
  return device;
}

}  // namespace tenon::tests
