// The values of a plan by key, and the differences between two plans.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

// Returns every value of a TOML document that is not a table, by key ("optimizer.lr", "loss[0].weight"). A list is one
// value, unless it is a list of tables. Throws Error(configuration) that names `source` if the text is not TOML.
std::map<std::string, Node> flatten_plan(const std::string& text, const std::string& source);

// A difference between the plan with which a run started and the plan with which it resumes.
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
