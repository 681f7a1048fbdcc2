// Streams, events, and the recording of graphs. One mutex guards all of them.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tests/cuda_standin/runtime/races.h"
#include "tests/cuda_standin/standin.h"

namespace tenon::standin {

struct Work {
  std::string name;
  std::vector<Access> accesses;
  std::function<void()> run;       // empty: nothing to compute
  std::function<void()> complete;  // what the host sees only when it has waited for the work; empty: nothing
};

struct Graph {
  std::vector<Work> work;
};

struct Capture {
  unsigned long long id;
  cudaStreamCaptureMode mode;
  CUstream_st* origin;
  Graph* graph;
  bool is_valid = true;
};

extern std::recursive_mutex mutex;

// Errors. Each returns the error and makes it the one that cudaGetLastError() of this thread returns.
cudaError_t fail(cudaError_t error, const std::string& call);
extern thread_local cudaError_t last_error;
extern std::atomic<int> device_failure;  // after it, every call fails with it

extern thread_local int current_device;

CUstream_st& stream_of(cudaStream_t stream);  // the default stream of the current device for null

// The rules of a recording. A call that must not run while this thread records, such as cudaMalloc; one that waits for
// this stream or queries it; each makes the recording invalid.
cudaError_t check_call(const char* name);

// Whether a graph is recorded, on any thread.
bool is_any_stream_recording();
cudaError_t check_stream(cudaStream_t stream, const char* name);

cudaError_t submit(cudaStream_t stream, Work work);

// The host waits for all work of the stream or of all streams.
cudaError_t wait_for(cudaStream_t stream, const char* name);
cudaError_t wait_for_all(const char* name);

// Also completes the work, but without an error: cudaFree() waits for the device.
void complete_all();

}  // namespace tenon::standin

struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  int device = 0;
  tenon::standin::Capture* capture = nullptr;
  uint64_t captured = 0;  // the number of the last work that was recorded; 0: none
  tenon::standin::Clock clock = {};
  struct Pending {
    uint64_t number;
    std::function<void()> complete;
  };
  std::deque<Pending> pending = {};
};

struct CUevent_st {
  bool has_timing = true;
  bool is_recorded = false;
  int queries = 0;  // since the record
  tenon::standin::Capture* capture = nullptr;
  tenon::standin::Clock clock = {};
  std::chrono::steady_clock::time_point time = {};
};
