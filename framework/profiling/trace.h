// Traces of operators, and trace files for Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <c10/core/Device.h>

#include "framework/support/diagnostics/timeline.h"

namespace tenon::profiling {

// Traces the operators of this thread and its backward with the LibTorch profiler. On CUDA devices it includes kernels.
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

// Writes a timeline as a trace file. `operators` is the result of OperatorTrace::stop(). The spans of the timeline are
// added on the same clock. Those of the training thread are a separate track "stages" above its operators. Throws
// Error(system) with the path and the reason.
void write_trace(const std::string& operators, const support::Timeline& timeline, uint32_t rank,
                 const std::filesystem::path& file);

}  // namespace tenon::profiling
