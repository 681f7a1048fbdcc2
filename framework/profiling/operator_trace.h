// Traces the operators of this thread and its backward with the LibTorch profiler. On CUDA devices it includes kernels.
#pragma once

#include <memory>
#include <string>

#include <c10/core/Device.h>

namespace tenon::profiling {

// Starts in the constructor. Only one trace can exist at a time.
class OperatorTrace {
 public:
  explicit OperatorTrace(const c10::Device& device);
  ~OperatorTrace();  // discards the trace, unless stopped
  OperatorTrace(const OperatorTrace&) = delete;
  OperatorTrace& operator=(const OperatorTrace&) = delete;

  // Returns the trace as JSON in Chrome's trace event format. Call it once, on the thread that started the trace.
  // Throws Error(system).
  std::string stop();

 private:
  bool is_on_ = true;
};

}  // namespace tenon::profiling
