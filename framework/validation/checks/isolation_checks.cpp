#include "framework/validation/checks/isolation_checks.h"

#include <algorithm>

#include "framework/support/diagnostics/error.h"
#include "framework/validation/session/process_settings.h"
#include "framework/validation/session/use_component.h"

namespace tenon::validation {

namespace {

template <size_t number>
void check_setting(Session& session) {
  const ProcessSetting& setting = process_settings()[number];
  std::string before;
  std::string changed_in;
  session.before_call = [&](const char*) { before = setting.read(); };
  session.after_call = [&](const char* function) {
    if (changed_in.empty() && setting.read() != before) changed_in = function;
  };
  use_component(session);
  session.before_call = session.after_call = nullptr;
  if (changed_in.empty()) return;
  throw Failed(changed_in + " changed " + setting.what + "; expected it to leave them unchanged");
}

void check_right_thread(Session& session) {
  use_component(session);
  const HostUse use = host_use();
  if (!use.on_wrong_thread.empty())
    throw Failed("calls host->" + use.on_wrong_thread.front() +
                 " on a thread other than the training thread; only that thread may call it");
}

// use_component() calls every function that could retain or release a handle.
void check_handles(Session& session) {
  use_component(session);
  const HostUse use = host_use();
  if (!use.over_released.empty())
    throw Failed("releases a handle that it does not own (" + use.over_released.front() +
                 "); a borrowed handle belongs to the host, and a handle of the frame belongs to the frame");
  if (use.owned != 0)
    throw Failed("retains " + std::to_string(use.owned) +
                 " handles more than it has released by the time it is destroyed; expected equal numbers");
}

void check_declared_operators(Session& session) {
  if (session.info->operators.empty()) throw Skipped("the plugin does not declare its operators");
  use_component(session);
  std::string missing;
  const std::vector<std::string>& declared = session.info->operators;
  for (const std::string& called : host_use().operators)
    if (std::find(declared.begin(), declared.end(), called) == declared.end())
      missing += (missing.empty() ? "" : ", ") + called;
  if (!missing.empty())
    throw Failed("calls operators that the plugin does not declare: " + missing +
                 "; expected them in tenon_plugin.operators");
}

Check make_isolation_check(std::string name, Level level, void (*run)(Session&)) {
  return {std::move(name), level, Check::Of::every_component, {}, {"usable"}, run};
}

template <size_t... number>
void add_settings(std::vector<Check>& checks, std::index_sequence<number...>) {
  (checks.push_back(make_isolation_check(process_settings()[number].check, Level::contract, check_setting<number>)),
   ...);
}

}  // namespace

void use_component(Session& session) {
  try {
    switch (session.component.schema.kind) {
      case config::ComponentKind::dataset: return use_dataset(session);
      case config::ComponentKind::model: return use_model(session);
      case config::ComponentKind::loss: return use_loss(session);
      case config::ComponentKind::metric: return use_metric(session);
      case config::ComponentKind::callback: return use_callback(session);
    }
  } catch (const support::Error&) {
    // The check of that function reports it.
  }
}

std::vector<Check> isolation_checks() {
  std::vector<Check> checks;
  constexpr size_t kSettings = 9;
  add_settings(checks, std::make_index_sequence<kSettings>());
  checks.push_back(make_isolation_check("right-thread", Level::contract, check_right_thread));
  checks.push_back(make_isolation_check("handles", Level::contract, check_handles));
  checks.push_back(make_isolation_check("declared-operators", Level::contract, check_declared_operators));
  return checks;
}

}  // namespace tenon::validation
