#include "host/training/trace_observer.h"

#include <filesystem>
#include <string>

#include "framework/profiling/write_trace.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/diagnostics/timeline.h"

namespace tenon::host {

using pipeline::Event;

bool TraceObserver::subscribes(Event event) const {
  return event == Event::step_start || event == Event::step_end || event == Event::run_end ||
         event == Event::run_exception;
}

void TraceObserver::on_event(Event event, const pipeline::RunState& state, pipeline::CallbackRequests&) {
  if (is_over_) return;
  if (event == Event::step_start) {
    if (!operators_ && state.step + 1 >= first_ && state.step < last_) begin();
  } else if (event == Event::step_end) {
    if (state.step >= last_) end(state);
  } else {
    end(state);
  }
}

void TraceObserver::begin() {
  operators_ = std::make_unique<profiling::OperatorTrace>(device_);
  support::start_timeline();
}

void TraceObserver::end(const pipeline::RunState& state) {
  is_over_ = true;
  if (!operators_) {
    support::log_warning("--trace: the run ended after step " + std::to_string(state.step) + ", before step " +
                         std::to_string(first_) + "; nothing was traced");
    return;
  }
  const support::Timeline timeline = support::stop_timeline();
  const std::string file = state.rank == 0 ? "trace.json" : "trace.rank" + std::to_string(state.rank) + ".json";
  profiling::write_trace(operators_->stop(), timeline, state.rank, std::filesystem::path(state.folder) / file);
  operators_.reset();
}

}  // namespace tenon::host
