// A callback of a plugin.
#pragma once

#include <cstdint>

#include <string>

#include <tenon/callback.h>

#include "framework/components/kinds/instance.h"

namespace tenon::components {

const char* event_name(uint32_t event);  // "step_end"
const char* event_unit(uint32_t event);  // "step_end, step", for messages that continue with the step number

// A plugin that targets a later ABI than this host's is refused when it is loaded. Any other bit is an error in the
// plugin, and the callback would silently not do what it was written for.
void require_known_events(const Component& component, uint64_t events);
void require_known_requests(const Component& component, const At& at, uint32_t flags);

class Callback {
 public:
  // Throws Error(plugin) if the plugin fails, or subscribes to events that this host does not know.
  Callback(const Component& component, const config::ComponentPlan& plan) : instance_(component, plan) {
    instance_.call([&](const tenon_callback& table) { return table.subscribe(instance_.self(), &events_, &priority_); },
                   "subscribe");
    require_known_events(component, events_);
  }

  const Component& component() const { return instance_.component(); }
  uint64_t events() const { return events_; }  // bits
  bool subscribes(uint32_t event) const { return (events_ & TENON_EVENT_BIT(event)) != 0; }
  int32_t priority() const { return priority_; }

  // See Instance.
  std::string save_state() const { return instance_.save_state(); }
  void load_state(const std::string& bytes) const { instance_.load_state(bytes); }

  // [train] The reason in the result belongs to the plugin and is valid until the next call. Throws Error(plugin) if
  // the plugin fails, or makes requests that this host does not know.
  tenon_requests on_event(uint32_t event, const tenon_run& run) const {
    // Events of a step are too frequent for it.
    const bool is_rare = event == TENON_RUN_SETUP || event == TENON_RUN_START || event == TENON_EPOCH_START ||
                         event == TENON_EPOCH_END || event == TENON_VALIDATION_END;
    tenon_requests requests{};
    requests.size = sizeof requests;
    instance_.call(
        [&](const tenon_callback& table) { return table.on_event(instance_.self(), event, &run, &requests); },
        "on_event", At{event_unit(event), run.step});
    if (is_rare) restore_host_settings(component(), "on_event");
    require_known_requests(component(), {event_unit(event), run.step}, requests.flags);
    return requests;
  }

 private:
  Instance<tenon_callback> instance_;
  uint64_t events_ = 0;
  int32_t priority_ = 0;
};

}  // namespace tenon::components
