// One thing that is demanded of a plugin, and what came of it.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/config/component_schema.h"

namespace tenon::validation {

class Session;

enum class Level {
  load,      // what the file says of itself
  create,    // components come and go
  contract,  // each function gives what its header promises
  training   // what a run relies on: equal results, gradients, sums of parts
};
const char* to_string(Level level);

struct Check {
  // Whose: the file's, or the components' of one kind or of all.
  enum class Of { plugin, kind, every_component };

  std::string name;
  Level level;
  Of of;
  std::optional<config::ComponentKind> kind;  // with Of::kind
  std::vector<std::string> needs;  // checks of the same component without which this one cannot tell anything
  void (*run)(Session&);           // returns, or throws Failed, Skipped or support::Error
};

// Every check, in the order in which they are made.
const std::vector<Check>& all_checks();

// Thrown by a check: found; expected; what to do.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Thrown by a check that has nothing to look at here; says why.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Verdict { pass, warning, fail, skipped };
const char* to_string(Verdict verdict);  // "pass", "warning", "FAIL", "skipped"

}  // namespace tenon::validation
