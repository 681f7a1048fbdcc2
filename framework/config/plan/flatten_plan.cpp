#include "framework/config/plan/flatten_plan.h"

#include <algorithm>

namespace tenon::config {

namespace {

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
  for (size_t i = 0; i < array->size(); ++i) flatten((*array)[i], key + "[" + std::to_string(i) + "]", values);
}

}  // namespace

std::map<std::string, Node> flatten_plan(const std::string& text, const std::string& source) {
  std::map<std::string, Node> values;
  flatten(parse_toml(text, source), "", values);
  return values;
}

}  // namespace tenon::config
