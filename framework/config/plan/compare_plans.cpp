#include "framework/config/plan/compare_plans.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tenon::config {
namespace {

std::map<std::string, std::string> values_of(const std::string& text, const std::string& source) {
  std::map<std::string, std::string> values;
  for (const auto& [key, node] : flatten_plan(text, source)) values[key] = describe(node);
  return values;
}

void flatten(const Node& node, const std::string& key, std::map<std::string, Node>& values) {
  if (const Node::Table* table = node.as_table()) {
    for (const auto& [name, child] : *table) flatten(child, key.empty() ? name : key + "." + name, values);
    return;
  }
  const Node::Array* array = node.as_array();
  const bool is_list_of_tables =
      array && !array->empty() && std::ranges::all_of(*array, [](const Node& child) { return child.as_table(); });
  if (!is_list_of_tables) {
    values[key] = node;
    return;
  }
  for (size_t i = 0; i < array->size(); ++i) flatten((*array)[i], fmt::format("{}[{}]", key, i), values);
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
    text += fmt::format("\n  {}: {}, now {}", one.key, shown(one.before), shown(one.after));
  return text;
}

std::map<std::string, Node> flatten_plan(const std::string& text, const std::string& source) {
  std::map<std::string, Node> values;
  flatten(parse_toml(text, source), "", values);
  return values;
}

}  // namespace tenon::config
