// Tries a plugin before a run trusts it: every check in a process of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "framework/validation/check.h"
#include "framework/validation/session.h"

namespace tenon::validation {

struct ValidationRequest {
  std::filesystem::path file;
  uint64_t seed;
  std::vector<GivenParams> params;
  std::string component;  // only this one's checks ("dataset.digits", "plugin"); empty: all
  std::string check;      // only this one, whatever it needs; empty: all
  double timeout_s;       // of each check
};

struct CheckResult {
  std::string component;  // "plugin", or "dataset.digits"
  const Check* check;
  Verdict verdict;
  std::string reason;  // empty where it passed
  std::string output;  // what the plugin printed; empty where it passed
};

// Runs the checks in their order and tells each result as it comes. REQUIRES: this process has one thread; see
// child_process.h. Throws Error(configuration) for a component or a check that does not exist, and for wrong
// parameters.
std::vector<CheckResult> validate(const ValidationRequest& request,
                                  const std::function<void(const CheckResult&)>& tell);

}  // namespace tenon::validation
