#include "host/verify_resume/kill_observer.h"

#include <csignal>

namespace tenon::host {

bool KillObserver::subscribes(pipeline::Event event) const {
  return event ==
         (kill_.moment == KillAt::TimePoint::step_end ? pipeline::Event::step_end : pipeline::Event::checkpoint_after);
}

void KillObserver::on_event(pipeline::Event, const pipeline::RunState& state, pipeline::CallbackRequests&) {
  if (state.step == kill_.step && state.rank == kill_.rank) raise(SIGKILL);
}

}  // namespace tenon::host
