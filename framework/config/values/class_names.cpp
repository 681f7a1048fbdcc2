#include "framework/config/values/class_names.h"

#include <algorithm>
#include <set>

#include "framework/config/toml/value.h"

namespace tenon::config {

namespace {

constexpr size_t kShown = 8;  // names in a message

std::string join(std::vector<std::string>::const_iterator begin, std::vector<std::string>::const_iterator end) {
  std::string text;
  for (; begin != end; ++begin) text += (text.empty() ? "" : ", ") + to_toml(*begin);
  return text;
}

}  // namespace

std::optional<std::string> find_name_fault(const std::vector<std::string>& names) {
  if (names.empty()) return "has no class";
  std::set<std::string> known;
  for (const std::string& name : names) {
    if (name.empty()) return "has a class with an empty name";
    if (!known.insert(name).second) return "has the class " + to_toml(name) + " twice";
  }
  return std::nullopt;
}

std::string name_class(const std::vector<std::string>& names, int64_t number) {
  const bool is_named = number >= 0 && static_cast<uint64_t>(number) < names.size();
  return is_named ? names[static_cast<size_t>(number)] : std::to_string(number);
}

std::string describe_classes(const std::vector<std::string>& names) {
  const std::string count = std::to_string(names.size()) + (names.size() == 1 ? " class (" : " classes (");
  if (names.size() <= kShown) return count + join(names.begin(), names.end()) + ")";
  constexpr size_t kLast = 2;
  return count + join(names.begin(), names.begin() + (kShown - kLast)) + ", ..., " +
         join(names.end() - kLast, names.end()) + ")";
}

std::string list_classes(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kShown);
  const std::string text = join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown));
  return shown == names.size() ? text : text + " and " + std::to_string(names.size() - shown) + " more";
}

}  // namespace tenon::config
