// `--trace steps=10..20`: writes a timeline of these steps to the run folder.
#pragma once

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

#include "framework/pipeline/state/events.h"
#include "framework/profiling/operator_trace.h"

namespace tenon::host {

// Writes trace.json, or trace.rank<N>.json on ranks other than 0, after the last of the steps or at the end of the run.
class TraceObserver final : public pipeline::Observer {
 public:
  // REQUIRES: 1 <= first <= last.
  TraceObserver(int64_t first, int64_t last, const c10::Device& device) : first_(first), last_(last), device_(device) {}

  bool subscribes(pipeline::Event event) const override;
  std::string name() const override { return "trace"; }
  int32_t priority() const override { return INT32_MIN; }
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::CallbackRequests& requests) override;

 private:
  void begin();
  void end(const pipeline::RunState& state);

  int64_t first_;
  int64_t last_;
  c10::Device device_;
  bool is_over_ = false;
  std::unique_ptr<profiling::OperatorTrace> operators_;  // set while tracing
};

}  // namespace tenon::host
