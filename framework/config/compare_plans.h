// In what two plans differ, for a run that goes on with another one than it began with.
#pragma once

#include <string>
#include <vector>

namespace tenon::config {

struct PlanDifference {
  std::string key;     // "optimizer.lr", "loss[0].weight"
  std::string before;  // as written; empty: not there
  std::string after;
};

// `before` and `after`: what print_run_plan() gave, of the same or another version of Tenon. By key. Throws
// Error(configuration) with `source`, for messages, if `before` is not TOML.
std::vector<PlanDifference> compare_plans(const std::string& before, const std::string& after,
                                          const std::string& source);

// One line each: "  optimizer.lr: 0.1, now 0.2".
std::string describe(const std::vector<PlanDifference>& differences);

}  // namespace tenon::config
