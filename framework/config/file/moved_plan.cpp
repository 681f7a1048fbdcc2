#include "framework/config/file/moved_plan.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"

namespace tenon::config {

namespace {

namespace fs = std::filesystem;

const std::string* find_text(const Node& document, const char* section, const char* key) {
  const Node::Table* table = document.as_table();
  for (const char* const name : {section, key}) {
    const auto found = table->find(name);
    if (found == table->end()) return nullptr;
    if (name == key) return found->second.as_string();
    table = found->second.as_table();
    if (!table) return nullptr;
  }
  return nullptr;
}

// Removes the last names that both paths have. Returns the folders that differ.
std::pair<fs::path, fs::path> remove_common_end(fs::path before, fs::path now) {
  while (before.has_relative_path() && now.has_relative_path() && before.filename() == now.filename()) {
    before = before.parent_path();
    now = now.parent_path();
  }
  return {before, now};
}

// Replaces the paths in all strings of the node, and returns their number.
int64_t replace_paths(Node& node, const fs::path& before, const fs::path& now) {
  int64_t count = 0;
  if (auto* const text = std::get_if<std::string>(&node.value)) {
    const fs::path path = *text;
    const auto [end_of_before, rest] = std::ranges::mismatch(before, path);
    if (!path.is_absolute() || end_of_before != before.end() || support::path_exists(path)) return 0;
    fs::path moved = now;
    for (auto name = rest; name != path.end(); ++name) moved /= *name;
    if (!support::path_exists(moved)) return 0;
    *text = moved.string();
    return 1;
  }
  if (Node::Array* const array = node.as_array())
    for (Node& element : *array) count += replace_paths(element, before, now);
  if (Node::Table* const table = node.as_table())
    for (auto& [name, value] : *table) count += replace_paths(value, before, now);
  return count;
}

}  // namespace

void follow_moved_plan(Node& document, const fs::path& file) {
  if (file.filename() != "plan.toml") return;
  const std::string* const output_dir = find_text(document, "run", "output_dir");
  const std::string* const name = find_text(document, "run", "name");
  if (!output_dir || !name || !fs::path(*output_dir).is_absolute()) return;
  const fs::path folder = support::make_absolute(file).lexically_normal().parent_path();
  const auto [before, now] = remove_common_end(fs::path(*output_dir) / *name / folder.filename(), folder);
  if (before == now) return;
  static std::atomic<bool> is_reported = false;  // a process reads its run file twice
  if (const int64_t count = replace_paths(document, before, now); count > 0 && !is_reported.exchange(true))
    support::log_warning("{}: the run was moved: {} below {} no longer {}, and {} read below {}", file.string(),
                         support::format_count(count, "path"), before.string(), count == 1 ? "exists" : "exist",
                         count == 1 ? "is" : "are", now.string());
}

}  // namespace tenon::config
