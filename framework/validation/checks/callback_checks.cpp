#include "framework/validation/checks/callback_checks.h"

#include "framework/validation/session/fake_run.h"
#include "framework/validation/session/use_component.h"

namespace tenon::validation {

namespace {

void check_subscription(Session& session) {
  CallbackUnderTest callback(session);
  const uint64_t events = callback.events();
  const int32_t priority = callback.priority();
  callback.read_subscription();
  if (events != callback.events() || priority != callback.priority())
    throw Failed("subscribe returns different events or a different priority the second time");
  if (events == 0) session.warn("subscribe requests no event, so on_event is never called");
}

void check_events(Session& session) {
  CallbackUnderTest callback(session);
  callback.dispatch_run();
}

Check make_callback_check(const char* name, std::vector<std::string> needs, void (*run)(Session&)) {
  return {name, Level::contract, Check::Of::kind, config::ComponentKind::callback, std::move(needs), run};
}

}  // namespace

void use_callback(Session& session) {
  CallbackUnderTest callback(session);
  callback.dispatch_run();
  callback.subject().destroy();
}

std::vector<Check> callback_checks() {
  return {make_callback_check("subscribe", {"create"}, check_subscription),
          make_callback_check("events", {"subscribe"}, check_events)};
}

}  // namespace tenon::validation
