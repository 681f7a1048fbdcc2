#include "framework/config/values/class_names.h"

#include <algorithm>
#include <set>
#include <span>

#include "framework/config/toml/value.h"
#include "framework/support/text/format.h"

namespace tenon::config {

namespace {

constexpr size_t kShown = 8;  // names in a message

std::string join(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + to_toml(name);
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
  constexpr size_t kLast = 2;
  const std::span<const std::string> all(names);
  const std::string listed = names.size() <= kShown
                                 ? join(all)
                                 : fmt::format("{}, ..., {}", join(all.first(kShown - kLast)), join(all.last(kLast)));
  return fmt::format("{} {} ({})", names.size(), names.size() == 1 ? "class" : "classes", listed);
}

std::string list_classes(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kShown);
  const std::string text = join(std::span(names).first(shown));
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

}  // namespace tenon::config
