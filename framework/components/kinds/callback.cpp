#include "framework/components/kinds/callback.h"

#include <iterator>
#include <string>
#include <vector>

#include "framework/support/text/format.h"

namespace tenon::components {
namespace {

constexpr uint64_t kKnownEvents = TENON_EVENT_BIT(TENON_EVENT_COUNT) - 1;
constexpr uint32_t kKnownRequests =
    TENON_REQUEST_STOP | TENON_REQUEST_SAVE | TENON_REQUEST_EVALUATE | TENON_REQUEST_LOG;

// "bit 24", "bits 24, 63".
std::string list_bits(uint64_t bits) {
  std::string text;
  for (int bit = 0; bit < 64; ++bit)
    if ((bits >> bit & 1) != 0) text += (text.empty() ? "" : ", ") + std::to_string(bit);
  return (text.find(',') == std::string::npos ? "bit " : "bits ") + text;
}

}  // namespace

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

void require_known_events(const Component& component, uint64_t events) {
  if ((events & ~kKnownEvents) == 0) return;
  throw_plugin_error(component, "subscribe",
                     "the events have {}, which this host does not know; expected bits 0 to {}, "
                     "TENON_EVENT_BIT of the events in callback.h",
                     list_bits(events & ~kKnownEvents), TENON_EVENT_COUNT - 1);
}

void require_known_requests(const Component& component, const At& at, uint32_t flags) {
  if ((flags & ~kKnownRequests) == 0) return;
  throw_plugin_error(component, fmt::format("on_event ({})", at()),
                     "the requests have {}, which this host does not know; expected bits 0 to 3, TENON_REQUEST_STOP, "
                     "_SAVE, _EVALUATE and _LOG",
                     list_bits(flags & ~kKnownRequests));
}

}  // namespace tenon::components
