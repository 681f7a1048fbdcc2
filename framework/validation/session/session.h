// The state of one check, in the process of the check: the opened plugin and one of its components.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/prepare.h>

#include "framework/components/calls/component.h"
#include "framework/components/calls/guard.h"
#include "framework/components/calls/parameters.h"
#include "framework/config/plan/run_plan.h"
#include "framework/validation/session/child_process.h"
#include "framework/validation/session/floating_point.h"
#include "framework/validation/session/recording_host.h"

namespace tenon::validation {

// Parameters from the command line: a component such as "model.mlp", and a TOML table such as `{ hidden = [64] }`.
struct GivenParams {
  std::string component;
  std::string table;
};

class Session {
 public:
  std::filesystem::path file;
  uint64_t seed = 0;
  std::vector<GivenParams> given;

  const tenon_plugin* plugin = nullptr;          // null until the plugin is opened
  std::unique_ptr<components::PluginInfo> info;  // null until the plugin is opened
  components::Component component{};             // null table: the check applies to the file
  config::ComponentPlan plan;                    // its parameters

  // Called before and after each function of the plugin, with its name.
  std::function<void(const char*)> before_call;
  std::function<void(const char*)> after_call;

  void warn(std::string what) { warnings_.push_back(std::move(what)); }
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Calls body(), which returns a status, as `function` of the component. Throws support::Error as call_plugin does.
  // Restores the floating-point modes, so that only one check reports a change of them.
  template <class Body>
  void call(const char* function, Body&& body, const std::string& detail = "") {
    record_call(function, detail);
    if (before_call) before_call(function);
    const FloatingPointModes modes;
    components::call_plugin(component, function, body, [&] { return detail; });
    clear_call_record();
    if (after_call) after_call(function);
  }

 private:
  std::vector<std::string> warnings_;
};

// The first fields of every component table.
struct AnyTable {
  uint64_t size;
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);
};

// An instance of the session's component. Table is tenon_model, tenon_dataset, ...; each begins with create and
// destroy.
template <class Table>
class Subject {
 public:
  explicit Subject(Session& session) : session_(session) {
    const tenon_params params(session.plan.params);
    // The check `extensions` reports an incomplete table.
    const auto* const preparation = extension<tenon_prepare>(TENON_PREPARE);
    if (preparation && TENON_HAS(preparation, tenon_prepare, prepare) && preparation->prepare)
      call("prepare.prepare", [&] { return preparation->prepare(&recording_host(), &params); });
    call("create", [&] { return table().create(&recording_host(), &params, &self_); });
    exists_ = true;
  }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  ~Subject() {
    try {
      destroy();
    } catch (const std::exception&) {
      // The check `create` reports failures of destroy.
    }
  }

  void destroy() {
    if (!std::exchange(exists_, false)) return;
    call("destroy", [&] {
      table().destroy(self_);
      return TENON_OK;
    });
  }

  template <class Body>
  void call(const char* function, Body&& body, const std::string& detail = "") {
    session_.call(function, std::forward<Body>(body), detail);
  }

  Session& session() const { return session_; }
  const Table& table() const { return *static_cast<const Table*>(session_.component.table); }
  void* self() const { return self_; }

  // An extension table of the component, or null.
  template <class Extension>
  const Extension* extension(const char* id) {
    const void* found = nullptr;
    if (session_.component.get_extension)
      call("get_extension", [&] {
        found = session_.component.get_extension(components::to_tenon(id));
        return TENON_OK;
      });
    return static_cast<const Extension*>(found);
  }

 private:
  Session& session_;
  void* self_ = nullptr;
  bool exists_ = false;
};

}  // namespace tenon::validation
