// A simulated CUDA device in host memory for machines without one: LibTorch's device type CUDA with a dispatcher, hooks
// and streams that compute with the CPU's kernels. Operations that fail on a real device also fail here. Operations
// that synchronise with a real device are counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// A program that links simulated_device.cpp has the device "cuda:0". Its tensors cannot be read like CPU tensors.
// Operators refuse to mix them with CPU tensors of one or more dimensions. Events complete some records later, like
// those of a busy device.
namespace tenon::simulated {

// Returns the synchronisations since the last call: names of operators, events, copies.
std::vector<std::string> take_wait_names();

// Whether LibTorch warns of each synchronisation, see DeviceLibrary::warn_of_waits.
void warn_of_waits(bool warns);

// Returns the number of operator calls and copies so far, which are at least as many kernel launches.
int64_t launches();

// Returns the number of copies to the device so far that ran on another stream than their reader, which waited for
// them.
int64_t overlapped_copies();

// Limits the memory of the device's tensors. Allocations above it fail as on a real device. 0: no limit.
void limit_memory(int64_t bytes);

// The device fails with a device-side assertion after this number of operator calls: then every operator, copy and
// event fails, and so does releasing pinned memory that an asynchronous copy used. 0: the device works again.
void fail_after(int64_t calls);

}  // namespace tenon::simulated
