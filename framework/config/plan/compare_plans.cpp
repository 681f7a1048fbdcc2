#include "framework/config/plan/compare_plans.h"

#include <map>
#include <utility>

#include "framework/config/plan/flatten_plan.h"

namespace tenon::config {

namespace {

std::map<std::string, std::string> values_of(const std::string& text, const std::string& source) {
  std::map<std::string, std::string> values;
  for (const auto& [key, node] : flatten_plan(text, source)) values[key] = describe(node);
  return values;
}

}  // namespace

std::vector<PlanDifference> compare_plans(const std::string& before, const std::string& after,
                                          const std::string& source) {
  const auto old_values = values_of(before, source), new_values = values_of(after, "the plan");
  std::map<std::string, PlanDifference> differences;
  for (const auto& [key, value] : old_values) {
    const auto now = new_values.find(key);
    if (now == new_values.end() || now->second != value)
      differences[key] = {key, value, now == new_values.end() ? "" : now->second};
  }
  for (const auto& [key, value] : new_values)
    if (!old_values.contains(key)) differences[key] = {key, "", value};
  std::vector<PlanDifference> list;
  for (auto& [key, difference] : differences) list.push_back(std::move(difference));
  return list;
}

std::string describe(const std::vector<PlanDifference>& differences) {
  const auto shown = [](const std::string& value) { return value.empty() ? std::string("unset") : value; };
  std::string text;
  for (const PlanDifference& one : differences)
    text += "\n  " + one.key + ": " + shown(one.before) + ", now " + shown(one.after);
  return text;
}

}  // namespace tenon::config
