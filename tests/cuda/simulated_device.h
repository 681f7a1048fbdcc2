// A CUDA device made of host memory, for programs that have none: LibTorch's device type CUDA with a dispatcher, hooks
// and streams behind it that compute with the CPU's kernels. What would fail on a real device fails here, and what
// would make the host wait for one is counted.
#pragma once

#include <string>
#include <vector>

// Linking simulated_device.cpp gives a program the device "cuda:0". Tensors on it are not readable as CPU tensors are,
// an operator refuses CPU tensors of one or more dimensions beside those of the device, and events arrive some records
// later, as those of a device that is behind.
namespace tenon::simulated {

// What the host has waited for since this was last called: an operator's number, an event, a copy.
std::vector<std::string> take_wait_names();

}  // namespace tenon::simulated
