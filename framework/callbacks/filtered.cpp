#include "framework/callbacks/filtered.h"

#include <cmath>

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

void Filtered::on_event(Event event, const RunState& state, pipeline::Verdict& verdict) {
  if (is_of_the_run(event) || passes(event, state)) observer_->on_event(event, state, verdict);
}

bool Filtered::passes(Event event, const RunState& state) {
  const Moment moment{state.epoch, is_within_step(event) ? state.step + 1 : state.step};
  if (moment != decided_for_) {
    decided_for_ = moment;
    decision_ = !(filter_.once && has_passed_) && is_due(moment, state);
    has_passed_ = has_passed_ || decision_;
  }
  return decision_;
}

bool Filtered::is_due(const Moment& moment, const RunState& state) {
  switch (filter_.after.unit) {
    case Period::Unit::never: break;
    case Period::Unit::epochs:
      if (static_cast<double>(moment.epoch) <= filter_.after.count) return false;
      break;
    case Period::Unit::steps:
      if (static_cast<double>(moment.step) <= filter_.after.count) return false;
      break;
    case Period::Unit::seconds:
      if (state.time_s < filter_.after.count) return false;
      break;
  }
  switch (filter_.every.unit) {
    case Period::Unit::never: return true;
    case Period::Unit::epochs: return is_multiple(moment.epoch, filter_.every.count);
    case Period::Unit::steps: return is_multiple(moment.step, filter_.every.count);
    case Period::Unit::seconds:
      if (state.time_s - counted_from_s_ < filter_.every.count) return false;
      counted_from_s_ = state.time_s;
      return true;
  }
  return true;
}

}  // namespace tenon::callbacks
