#include "framework/config/file/exclusive_keys.h"

#include <array>
#include <string_view>

namespace tenon::config {

namespace {

struct Pair {
  std::string_view table, first, second;
};

constexpr std::array kPairs{Pair{"train", "epochs", "steps"}, Pair{"schedule", "warmup", "warmup_steps"}};

Node::Table* find_table(Node::Table& root, std::string_view name) {
  const auto found = root.find(std::string(name));
  return found == root.end() ? nullptr : found->second.as_table();
}

bool has(const Node::Table& root, std::string_view table, std::string_view key) {
  const auto found = root.find(std::string(table));
  const Node::Table* const inner = found == root.end() ? nullptr : found->second.as_table();
  return inner && inner->contains(std::string(key));
}

}  // namespace

void keep_exclusive_keys(Node::Table& base, const Node::Table& extending) {
  for (const Pair& pair : kPairs) {
    Node::Table* const table = find_table(base, pair.table);
    if (!table) continue;
    if (has(extending, pair.table, pair.first)) table->erase(std::string(pair.second));
    if (has(extending, pair.table, pair.second)) table->erase(std::string(pair.first));
  }
}

void drop_excluded_key(Node& document, const std::string& key) {
  for (const Pair& pair : kPairs) {
    const std::string prefix = std::string(pair.table) + ".";
    if (key != prefix + std::string(pair.first) && key != prefix + std::string(pair.second)) continue;
    Node::Table* const table = document.as_table() ? find_table(*document.as_table(), pair.table) : nullptr;
    if (!table) continue;
    const auto other = table->find(std::string(key == prefix + std::string(pair.first) ? pair.second : pair.first));
    const bool is_of_file = other != table->end() && other->second.place.line > 0;
    if (is_of_file) table->erase(other);
  }
}

}  // namespace tenon::config
