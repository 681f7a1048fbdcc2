// Differences between two plans, for a run that resumes with another plan than it started with.
#pragma once

#include <string>
#include <vector>

namespace tenon::config {

struct PlanDifference {
  std::string key;     // "optimizer.lr", "loss[0].weight"
  std::string before;  // as written; empty: unset
  std::string after;
};

// Returns the differences, sorted by key. `before` and `after` are outputs of format_run_plan() of the same or another
// version of Tenon. Throws Error(configuration) that names `source` if `before` is not TOML.
std::vector<PlanDifference> compare_plans(const std::string& before, const std::string& after,
                                          const std::string& source);

// One line per difference: "  optimizer.lr: 0.1, now 0.2".
std::string describe(const std::vector<PlanDifference>& differences);

}  // namespace tenon::config
