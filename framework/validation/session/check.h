// A check that `host validate` runs on a plugin, and its result.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/config/values/component_schema.h"

namespace tenon::validation {

class Session;

enum class Level {
  load,      // the file and its description
  create,    // components are created and destroyed
  contract,  // each function behaves as the header promises
  training   // what a run relies on: repeatable results, gradients, states that add up
};
const char* to_string(Level level);

struct Check {
  // What the check applies to: the file, the components of one kind, or all components.
  enum class Of { plugin, kind, every_component };

  std::string name;
  Level level;
  Of of;
  std::optional<config::ComponentKind> kind;  // with Of::kind
  std::vector<std::string> needs;             // checks of the same component that must not fail before this one
  void (*run)(Session&);                      // returns, or throws Failed, Skipped or support::Error
};

// All checks, in the order in which they run.
const std::vector<Check>& all_checks();

// Thrown by a check that fails. The text states what was found, what was expected and what to do.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Thrown by a check that does not apply to this component. The text states why.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class CheckStatus { pass, warning, fail, skipped };
const char* to_string(CheckStatus status);  // "pass", "warning", "FAIL", "skipped"

}  // namespace tenon::validation
