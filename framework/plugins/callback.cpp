#include "framework/plugins/callback.h"

#include <iterator>
#include <string>
#include <vector>

namespace tenon::plugins {

const char* event_name(uint32_t event) {
  // In the order of the event numbers.
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

const char* event_unit(uint32_t event) {
  static const std::vector<std::string> units = [] {
    std::vector<std::string> texts;
    for (uint32_t number = 0; number < TENON_EVENT_COUNT; ++number)
      texts.push_back(std::string(event_name(number)) + ", step");
    return texts;
  }();
  return event < units.size() ? units[event].c_str() : event_name(event);
}

}  // namespace tenon::plugins
