#include "framework/validation/checks/callback_checks.h"
#include "framework/validation/checks/create_checks.h"
#include "framework/validation/checks/dataset_checks.h"
#include "framework/validation/checks/isolation_checks.h"
#include "framework/validation/checks/load_checks.h"
#include "framework/validation/checks/loss_checks.h"
#include "framework/validation/checks/metric_checks.h"
#include "framework/validation/checks/model_checks.h"
#include "framework/validation/checks/sample_order_checks.h"
#include "framework/validation/checks/state_checks.h"
#include "framework/validation/session/check.h"

namespace tenon::validation {

const char* to_string(Level level) {
  switch (level) {
    case Level::load: return "load";
    case Level::create: return "create";
    case Level::contract: return "contract";
    default: return "training";
  }
}

const char* to_string(CheckStatus status) {
  switch (status) {
    case CheckStatus::pass: return "pass";
    case CheckStatus::warning: return "warning";
    case CheckStatus::fail: return "FAIL";
    default: return "skipped";
  }
}

const std::vector<Check>& all_checks() {
  static const std::vector<Check> all = [] {
    std::vector<Check> list;
    for (const auto& checks : {load_checks(), create_checks(), dataset_checks(), sample_order_checks(), model_checks(),
                               loss_checks(), metric_checks(), callback_checks(), isolation_checks(), state_checks()})
      list.insert(list.end(), checks.begin(), checks.end());
    return list;
  }();
  return all;
}

}  // namespace tenon::validation
