// Checks a plugin before a run uses it. Each check runs in a separate process.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "framework/validation/session/session.h"

namespace tenon::validation {

struct ValidationRequest {
  std::filesystem::path file;
  uint64_t seed;
  std::vector<GivenParams> params;
  std::string component;  // run only the checks of this component ("dataset.digits", "plugin"); empty: all
  std::string check;      // run only this check, ignoring its needs; empty: all
  double timeout_s;       // for each call of a plugin function
};

struct CheckResult {
  std::string component;  // "plugin", or "dataset.digits"
  const Check* check;
  CheckStatus status;
  std::string reason;  // empty if the check passed
  std::string output;  // what the plugin printed; empty unless the check failed
  // What --params must set before this component can be checked: "dataset.idx={ images = ... }". Empty: nothing.
  std::string needed_params;
};

// Runs the checks in order and passes each result to the function as soon as it is available. REQUIRES: this process
// has one thread; see child_process.h. Throws Error(configuration) for a component or a check that does not exist, and
// for invalid parameters.
std::vector<CheckResult> validate(const ValidationRequest& request,
                                  const std::function<void(const CheckResult&)>& report);

}  // namespace tenon::validation
