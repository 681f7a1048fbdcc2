#include "framework/validation/callback_checks.h"
#include "framework/validation/check.h"
#include "framework/validation/create_checks.h"
#include "framework/validation/dataset_checks.h"
#include "framework/validation/isolation_checks.h"
#include "framework/validation/load_checks.h"
#include "framework/validation/loss_checks.h"
#include "framework/validation/metric_checks.h"
#include "framework/validation/model_checks.h"
#include "framework/validation/sample_order_checks.h"
#include "framework/validation/state_checks.h"

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
