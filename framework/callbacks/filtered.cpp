#include "framework/callbacks/filtered.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "framework/support/diagnostics/error.h"

namespace tenon::callbacks {

using config::Period;
using pipeline::Event;
using pipeline::RunState;

namespace {

bool is_of_the_run(Event event) {
  switch (event) {
    case Event::run_setup:
    case Event::run_start:
    case Event::checkpoint_loaded:
    case Event::stop_requested:
    case Event::run_end:
    case Event::run_exception:
    case Event::run_teardown: return true;
    default: return false;
  }
}

bool is_within_step(Event event) { return event >= Event::batch_fetched && event <= Event::optimizer_after; }

bool is_multiple(int64_t number, double count) {
  return number > 0 && std::fmod(static_cast<double>(number), count) == 0;
}

}  // namespace

void Filtered::on_event(Event event, const RunState& state, pipeline::CallbackRequests& requests) {
  if (is_of_the_run(event) || passes(event, state)) observer_->on_event(event, state, requests);
}

bool Filtered::passes(Event event, const RunState& state) {
  const EventTime event_time{state.epoch, is_within_step(event) ? state.step + 1 : state.step};
  if (event_time != memory_.decided_for) {
    memory_.decided_for = event_time;
    memory_.decision = !(filter_.once && memory_.has_passed) && is_due(event_time, state);
    memory_.has_passed = memory_.has_passed || memory_.decision;
  }
  return memory_.decision;
}

// The filter's state, followed by the observer's.
std::string Filtered::save_state() const {
  return std::string(reinterpret_cast<const char*>(&memory_), sizeof memory_) + observer_->save_state();
}

void Filtered::load_state(const std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<Memory> && sizeof(Memory) == 40, "has no padding");
  if (bytes.size() < sizeof memory_)
    throw support::Error(support::ErrorKind::checkpoint, "the state of a callback has " + std::to_string(bytes.size()) +
                                                             " bytes; expected at least " +
                                                             std::to_string(sizeof memory_));
  std::memcpy(&memory_, bytes.data(), sizeof memory_);
  observer_->load_state(bytes.substr(sizeof memory_));
}

bool Filtered::is_due(const EventTime& event_time, const RunState& state) {
  switch (filter_.after.unit) {
    case Period::Unit::never: break;
    case Period::Unit::epochs:
      if (static_cast<double>(event_time.epoch) <= filter_.after.count) return false;
      break;
    case Period::Unit::steps:
      if (static_cast<double>(event_time.step) <= filter_.after.count) return false;
      break;
    case Period::Unit::seconds:
      if (state.time_s < filter_.after.count) return false;
      break;
  }
  switch (filter_.every.unit) {
    case Period::Unit::never: return true;
    case Period::Unit::epochs: return is_multiple(event_time.epoch, filter_.every.count);
    case Period::Unit::steps: return is_multiple(event_time.step, filter_.every.count);
    case Period::Unit::seconds:
      if (state.time_s - memory_.counted_from_s < filter_.every.count) return false;
      memory_.counted_from_s = state.time_s;
      return true;
  }
  return true;
}

}  // namespace tenon::callbacks
