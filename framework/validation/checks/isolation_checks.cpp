#include <algorithm>

#include "framework/support/diagnostics/error.h"
#include "framework/validation/checks/checks.h"
#include "framework/validation/session/process_settings.h"
#include "framework/validation/session/recording_host.h"

namespace tenon::validation {

namespace {

// Ignores errors of the plugin: the check of that function reports it.
void use_component(Session& session) {
  try {
    switch (session.component().schema.kind) {
      case config::ComponentKind::dataset: return use_dataset(session);
      case config::ComponentKind::model: return use_model(session);
      case config::ComponentKind::loss: return use_loss(session);
      case config::ComponentKind::metric: return use_metric(session);
      case config::ComponentKind::callback: return use_callback(session);
      case config::ComponentKind::transform: return use_transform(session);
    }
  } catch (const support::Error&) {
  }
}

void check_setting(Session& session, const ProcessSetting& setting) {
  session.watch(setting);
  use_component(session);
  if (!session.changed_in().empty())
    throw Failed("{} changed {}; expected it to leave them unchanged", session.changed_in(), setting.what);
}

void check_output(Session& session) {
  divert_output();
  session.watch(written_output());
  use_component(session);
  if (!session.changed_in().empty())
    throw Failed(
        "{} writes to standard output: \"{}\". It belongs to the host; expected host->log (in C++: tenon::log)",
        session.changed_in(), read_diverted_output());
}

void check_right_thread(Session& session) {
  use_component(session);
  const HostUse use = host_use();
  if (!use.on_wrong_thread.empty())
    throw Failed("calls host->{} on a thread other than the training thread; only that thread may call it",
                 use.on_wrong_thread.front());
}

// use_component() calls every function that could retain or release a handle.
void check_handles(Session& session) {
  use_component(session);
  const HostUse use = host_use();
  if (!use.over_released.empty())
    throw Failed(
        "releases a handle that it does not own ({}); a borrowed handle belongs to the host, and a handle of the frame "
        "belongs to the frame",
        use.over_released.front());
  if (use.owned != 0)
    throw Failed("retains {} handles more than it has released by the time it is destroyed; expected equal numbers",
                 use.owned);
}

void check_declared_operators(Session& session) {
  const std::vector<std::string>& declared = session.component().plugin->operators;
  if (declared.empty()) throw Skipped("the plugin does not declare its operators");
  use_component(session);
  std::string missing;
  for (const std::string& called : host_use().operators)
    if (std::ranges::find(declared, called) == declared.end()) missing += (missing.empty() ? "" : ", ") + called;
  if (!missing.empty())
    throw Failed("calls operators that the plugin does not declare: {}; expected them in tenon_plugin.operators",
                 missing);
}

}  // namespace

std::vector<Check> isolation_checks() {
  std::vector<Check> checks;
  for (const ProcessSetting& setting : process_settings())
    checks.push_back({setting.check, Level::contract, {"usable"}, [&setting](Session& session) {
                        check_setting(session, setting);
                      }});
  checks.push_back({written_output().check, Level::contract, {"usable"}, check_output});
  checks.push_back({"right-thread", Level::contract, {"usable"}, check_right_thread});
  checks.push_back({"handles", Level::contract, {"usable"}, check_handles});
  checks.push_back({"declared-operators", Level::contract, {"usable"}, check_declared_operators});
  return checks;
}

}  // namespace tenon::validation
