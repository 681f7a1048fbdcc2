// A simulated CUDA device in host memory for machines without one: LibTorch's device type CUDA with a dispatcher, hooks
// and streams that compute with the CPU's kernels. Operations that fail on a real device also fail here. Operations
// that synchronise with a real device are counted.
#pragma once

#include <string>
#include <vector>

// A program that links simulated_device.cpp has the device "cuda:0". Its tensors cannot be read like CPU tensors.
// Operators refuse to mix them with CPU tensors of one or more dimensions. Events complete some records later, like
// those of a busy device.
namespace tenon::simulated {

// Returns the synchronisations since the last call: names of operators, events, copies.
std::vector<std::string> take_wait_names();

}  // namespace tenon::simulated
