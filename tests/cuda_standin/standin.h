// What the operators, the collectives and the tests use of the stand-in for the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#define STANDIN_API __attribute__((visibility("default")))

namespace tenon::standin {

// Memory that submitted work reads or writes.
struct Access {
  const void* begin;
  size_t bytes;
  bool is_written;
};

// Returns the address at which the host may access this memory of a device. Returns other addresses unchanged.
STANDIN_API void* host_address(const void* address);

// Submits work to a stream, or records it if the stream is being captured. The work runs at once. The accesses must be
// ordered with those of other streams by events, otherwise report() is called. `work` may be empty.
STANDIN_API cudaError_t submit(cudaStream_t stream, const std::string& name, std::vector<Access> accesses,
                               std::function<void()> work);

// While a thread is within a Shadow, kernels that it launches are counted and checked, but not recorded: an operator is
// recorded as a whole.
struct STANDIN_API Shadow {
  Shadow();
  ~Shadow();
};

// Prints a fault that a real device would not report in the same way: a race between streams, pinned memory that the
// host has changed too early, an operator with other results than the CPU's. Tests fail if the output contains
// "CUDA stand-in: ".
STANDIN_API void report(const std::string& fault);

// Prints a line if TENON_STANDIN_LOG is set.
STANDIN_API void log(const std::string& line);

}  // namespace tenon::standin
