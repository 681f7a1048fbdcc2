#include "framework/config/file/resume_policy.h"

#include <string_view>
#include <vector>

#include "framework/config/file/read_run_config.h"

namespace tenon::config {

namespace {

// Returns "loss[].weight" for "loss[0].weight".
std::string without_indices(const std::string& key) {
  std::string text;
  bool is_index = false;
  for (const char letter : key) {
    if (letter == ']') is_index = false;
    if (!is_index) text += letter;
    if (letter == '[') is_index = true;
  }
  return text;
}

// Whether the entry declares the key itself, or all keys under the same table.
bool covers(const RequestedKey& entry, std::string_view key) {
  const std::string_view path = entry.path;
  if (path.ends_with(".*")) return key.starts_with(path.substr(0, path.size() - 1));
  return key == path || (key.starts_with(path) && key[path.size()] == '.');
}

}  // namespace

ResumePolicy find_resume_policy(const std::string& key) {
  static const std::vector<RequestedKey> entries = list_run_file_keys();
  const std::string wanted = without_indices(key);
  const RequestedKey* found = nullptr;
  for (const RequestedKey& entry : entries)
    if (entry.form != RequestedKey::Form::table && entry.form != RequestedKey::Form::tables && covers(entry, wanted) &&
        (!found || entry.path.size() > found->path.size()))
      found = &entry;
  return found ? found->on_resume : ResumePolicy::reported;
}

}  // namespace tenon::config
