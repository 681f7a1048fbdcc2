// LibTorch's own profiler: the operators of this thread and of its backward, and on a CUDA device its kernels.
#pragma once

#include <memory>
#include <string>

#include <c10/core/Device.h>

namespace tenon::profiling {

// Begins at once. One at a time.
class OperatorTrace {
 public:
  explicit OperatorTrace(const c10::Device& device);
  ~OperatorTrace();  // without stop(): what there is is dropped
  OperatorTrace(const OperatorTrace&) = delete;
  OperatorTrace& operator=(const OperatorTrace&) = delete;

  // What there is, as JSON in Chrome's trace event format. On the thread that began it, once. Throws Error(internal).
  std::string stop();

 private:
  bool is_on_ = true;
};

}  // namespace tenon::profiling
