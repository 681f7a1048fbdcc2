#include "framework/config/values/class_names.h"

#include <algorithm>
#include <set>
#include <span>

#include "framework/config/toml/value.h"
#include "framework/formats/strings.h"
#include "framework/support/text/format.h"

namespace tenon::config {

namespace {

constexpr size_t kShown = 8;  // names in a message

std::string quote_all(std::span<const std::string> names) { return formats::join(names, ", ", to_toml); }

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

std::vector<std::string> find_classes(const ClassNames& names, const std::string& field) {
  const auto found = names.find(field);
  return found == names.end() ? std::vector<std::string>() : found->second;
}

std::string name_class(const std::vector<std::string>& names, int64_t number) {
  const bool is_named = number >= 0 && static_cast<uint64_t>(number) < names.size();
  return is_named ? names[static_cast<size_t>(number)] : std::to_string(number);
}

std::string describe_classes(const std::vector<std::string>& names) {
  constexpr size_t kLast = 2;
  const std::span<const std::string> all(names);
  const std::string listed = names.size() <= kShown ? quote_all(all)
                                                    : fmt::format("{}, ..., {}", quote_all(all.first(kShown - kLast)),
                                                                  quote_all(all.last(kLast)));
  return fmt::format("{} {} ({})", names.size(), names.size() == 1 ? "class" : "classes", listed);
}

std::string list_classes(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kShown);
  const std::string text = quote_all(std::span(names).first(shown));
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

}  // namespace tenon::config
