// A check that `host validate` runs on a plugin, and its state in the process of the check.
#pragma once

#include <cfenv>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tenon/plugin.h>

#include "framework/components/calls/component.h"
#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/kinds/instance.h"
#include "framework/components/loading/load_plugin.h"
#include "framework/config/plan/run_plan.h"
#include "framework/support/text/format.h"
#include "framework/validation/session/process_settings.h"

namespace tenon::validation {

// Thrown by a check that fails. The text states what was found, what was expected and what to do.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
  // The text is fmt::format(format, value, more...).
  template <class Value, class... More>
  Failed(fmt::format_string<Value, More...> format, Value&& value, More&&... more)
      : std::runtime_error(fmt::format(format, std::forward<Value>(value), std::forward<More>(more)...)) {}
};
// Thrown by a check that does not apply to this component. The text states why.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Parameters from the command line: a component such as "model.mlp", and a TOML table such as `{ hidden = [64] }`.
struct GivenParams {
  std::string component;
  std::string table;
};

// The first fields of every component table.
struct AnyTable {
  uint64_t size;
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);
};

// The opened plugin, one of its components, and what its functions did on this thread.
class Session final : public components::CallObserver {
 public:
  Session(std::filesystem::path file, uint64_t seed, std::vector<GivenParams> given);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() override;

  // Opens the plugin as a run does, and finds `component` in it unless that is empty. Throws support::Error.
  void open(const std::string& component);

  const std::filesystem::path& file() const { return file_; }
  uint64_t seed() const { return seed_; }
  // REQUIRES: open().
  const std::vector<components::Component>& components() const { return plugin_.components; }
  // REQUIRES: open() with a component.
  const components::Component& component() const { return *component_; }
  const config::ComponentPlan& plan() const { return plan_; }

  // Creates the component, with another plan if one is given, after the preparation of a dataset. Table is
  // tenon_model, tenon_dataset, ...
  template <class Table = AnyTable>
  components::Instance<Table> create() const {
    return create<Table>(plan_);
  }
  template <class Table = AnyTable>
  components::Instance<Table> create(const config::ComponentPlan& plan) const {
    prepare(plan);
    return {component(), plan};
  }
  void prepare(const config::ComponentPlan& plan) const;

  void warn(std::string what) { warnings_.push_back(std::move(what)); }
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Compares the setting before and after each function. changed_in() names the first that changed it; "": none.
  void watch(const ProcessSetting& setting) { watched_ = &setting; }
  const std::string& changed_in() const { return changed_in_; }

  // For the handler of an error of the last function: throws Failed if the function returned a status without a reason,
  // and the error if it returned no status.
  void require_reason(const std::string& what) const;
  // Throws Failed if a call of the function did what the headers forbid and the host accepts, or ignored an error of
  // the host. The text begins with `what`.
  void require_no_violation(const std::string& function, const std::string& what) const;
  // Throws the error of an exception that escaped from a function. The host itself ignores errors of destroy.
  void require_no_escaped() const;

  void before_call(const char* function, const std::string& what) override;
  void after_call(const components::Component& component, const char* function, tenon_status status,
                  const std::exception_ptr& escaped) override;
  void on_violation(const std::string& what) override;

 private:
  std::filesystem::path file_;
  uint64_t seed_;
  std::vector<GivenParams> given_;
  components::LoadedPlugin plugin_;
  const components::Component* component_ = nullptr;
  config::ComponentPlan plan_;

  std::vector<std::string> warnings_;
  const ProcessSetting* watched_ = nullptr;
  std::string watched_before_, changed_in_;
  std::fenv_t floating_point_{};
  tenon_status last_status_ = TENON_OK;
  std::string last_reason_;
  std::map<std::string, std::string> violations_;  // the first of each function
  std::exception_ptr escaped_;
  std::string escaped_from_;
};

std::string name_of(const components::Component& component);  // "dataset.digits"

// Loads the file and calls its entry. Throws support::Error.
tenon_reply call_entry(const std::filesystem::path& file);

// The parameters for creating the component. Throws Error(configuration) if some are missing, unknown or invalid.
config::ComponentPlan plan_of(const components::Component& component, const std::vector<GivenParams>& given);

enum class Level {
  load,      // the file and its description
  create,    // components are created and destroyed
  contract,  // each function behaves as the header promises
  training   // what a run relies on: repeatable results, gradients, states that add up
};
const char* to_string(Level level);

struct Check {
  std::string name;
  Level level;
  std::vector<std::string> needs;     // checks of the same component that must not fail before this one
  std::function<void(Session&)> run;  // returns, or throws Failed, Skipped or support::Error
  std::string of = {};                // "plugin": the file; a kind, such as "model"; "": every component
};

enum class CheckStatus { pass, warning, fail, skipped };
const char* to_string(CheckStatus status);  // "pass", "warning", "fail", "skipped"

}  // namespace tenon::validation
