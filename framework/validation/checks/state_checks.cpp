#include "framework/validation/checks/state_checks.h"

#include <tenon/saved_state.h>

#include <functional>

#include "framework/validation/session/fake_run.h"

namespace tenon::validation {

namespace {

constexpr uint64_t kLargestState = uint64_t{1} << 30;

template <class Table>
const tenon_saved_state& require_state(Subject<Table>& subject) {
  const auto* state = subject.template extension<tenon_saved_state>(TENON_SAVED_STATE);
  if (!state) throw Skipped("it has no saved state (" TENON_SAVED_STATE ")");
  return *state;
}

template <class Table>
std::string save(Subject<Table>& subject) {
  const tenon_saved_state& state = require_state(subject);
  tenon_string bytes{nullptr, 0};
  std::string saved;
  subject.call("save", [&] {
    const tenon_status status = state.save(subject.self(), &bytes);
    if (status == TENON_OK && bytes.data && bytes.size <= kLargestState) saved.assign(bytes.data, bytes.size);
    return status;
  });
  if (bytes.size > kLargestState || (bytes.size > 0 && !bytes.data))
    throw Failed("save returns " + std::to_string(bytes.size) +
                 " bytes; expected at most 1 GiB and a non-null pointer");
  return saved;
}

// Returns the status and writes the reason to `reason`.
tenon_status load(Subject<AnyTable>& subject, const std::string& bytes, std::string& reason) {
  const tenon_saved_state& state = require_state(subject);
  tenon_status status = TENON_OK;
  subject.call("load", [&] {
    status = state.load(subject.self(), components::to_tenon(bytes));
    reason = components::detail::failure;
    return TENON_OK;
  });
  return status;
}

// The state of a callback after a fake run, or of another component as created.
std::string save_after_use(Session& session) {
  if (session.component.schema.kind == config::ComponentKind::callback) {
    CallbackUnderTest callback(session);
    require_state(callback.subject());
    callback.dispatch_run();
    return save(callback.subject());
  }
  Subject<AnyTable> subject(session);
  return save(subject);
}

void check_saved_state(Session& session) {
  const std::string saved = save_after_use(session);
  Subject<AnyTable> other(session);
  std::string reason;
  if (const tenon_status status = load(other, saved, reason); status != TENON_OK)
    throw Failed("load rejects the state that save returned, with status " + std::to_string(status) + ": " + reason);
  const std::string again = save(other);
  if (again != saved)
    throw Failed("save returns different bytes after load than were loaded (" + std::to_string(again.size()) +
                 " bytes, loaded " + std::to_string(saved.size()) + "); expected equal bytes for equal states");
}

void check_foreign_state(Session& session) {
  const std::string saved = save_after_use(session);
  std::string flipped = saved;
  for (char& byte : flipped) byte = static_cast<char>(~byte);
  for (const std::string& bytes : {std::string(), saved.substr(0, saved.size() / 2), saved + saved, flipped,
                                   std::string(3, '\xFF'), std::string(4096, '\x7F')}) {
    Subject<AnyTable> subject(session);
    std::string reason;
    if (load(subject, bytes, reason) != TENON_OK && reason.empty())
      throw Failed("load rejects the bytes without a reason; expected a call of host->fail with a text first");
    save(subject);
  }
}

Check make_state_check(const char* name, std::vector<std::string> needs, void (*run)(Session&)) {
  return {name, Level::training, Check::Of::every_component, {}, std::move(needs), run};
}

}  // namespace

std::vector<Check> state_checks() {
  return {make_state_check("saved-state", {"extensions", "usable"}, check_saved_state),
          make_state_check("foreign-state", {"saved-state"}, check_foreign_state)};
}

}  // namespace tenon::validation
