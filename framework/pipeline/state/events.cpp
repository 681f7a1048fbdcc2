#include "framework/pipeline/state/events.h"

#include <algorithm>

namespace tenon::pipeline {

EventDispatcher::EventDispatcher(std::vector<Observer*> observers, StageTimes& times) : times_(times) {
  std::ranges::stable_sort(observers, {}, &Observer::priority);
  for (Observer* observer : observers) {
    const Stage stage = times.add(observer->name());
    for (uint32_t event = 0; event < TENON_EVENT_COUNT; ++event)
      if (observer->subscribes(static_cast<Event>(event))) by_event_[event].push_back({observer, stage});
  }
}

void EventDispatcher::dispatch_to_all(Event event, const RunState& state, CallbackRequests& requests,
                                      const std::function<void(const std::exception&)>& on_failure) const {
  for (const Listener& listener : by_event_[static_cast<uint32_t>(event)]) {
    try {
      listener.observer->on_event(event, state, requests);
    } catch (const std::exception& error) {
      on_failure(error);
    }
  }
}

}  // namespace tenon::pipeline
