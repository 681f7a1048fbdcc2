#include "framework/plugins/callback.h"

#include <iterator>

namespace tenon::plugins {

const char* event_name(uint32_t event) {
  // In the order of their numbers.
  static constexpr const char* kNames[] = {
      "run_setup",     "run_start",         "checkpoint_loaded",    "epoch_start",
      "batch_fetched", "step_start",        "forward_end",          "loss_end",
      "backward_end",  "grads_ready",       "optimizer_before",     "optimizer_after",
      "step_end",      "validation_start",  "validation_batch_end", "validation_end",
      "log",           "checkpoint_before", "checkpoint_after",     "stop_requested",
      "epoch_end",     "run_end",           "run_exception",        "run_teardown"};
  static_assert(std::size(kNames) == TENON_EVENT_COUNT);
  return event < std::size(kNames) ? kNames[event] : "an unknown event";
}

}  // namespace tenon::plugins
