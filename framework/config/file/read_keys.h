// Reads declared keys from a table of a run file.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/file/keys.h"
#include "framework/config/file/table_reader.h"

namespace tenon::config {

class ReadKeys : public Keys<ReadKeys> {
 public:
  // Both must outlive this object. `found`: receives where the keys are, by path.
  ReadKeys(TableReader& table, std::map<std::string, FoundKey>& found) : table_(table), found_(found) {}

  void on_resume(ResumePolicy policy) { table_.on_resume(policy); }

  bool visit(const char* name, bool& value, const KeyRules& rules) { return read(name, value, rules); }
  bool visit(const char* name, int64_t& value, const KeyRules& rules) {
    return rules.automatic
               ? take(name, value, rules,
                      [&](auto& setting) { return table_.read_or_auto(name, setting, rules.range, *rules.automatic); })
               : read(name, value, rules, rules.range);
  }
  bool visit(const char* name, double& value, const KeyRules& rules) { return read(name, value, rules, rules.range); }
  bool visit(const char* name, std::string& value, const KeyRules& rules) { return read(name, value, rules); }
  bool visit(const char* name, std::vector<std::string>& value, const KeyRules& rules) {
    return read(name, value, rules, rules.choices);
  }
  bool visit(const char* name, Period& value, const KeyRules& rules) {
    return read(name, value, rules, rules.fractions);
  }
  bool visit(const char* name, Subset& value, const KeyRules& rules) { return read(name, value, rules); }
  bool visit(const char* name, DeviceChoice& value, const KeyRules& rules) { return read(name, value, rules); }
  bool visit(const char* name, NamedChoice& value, const KeyRules& rules) {
    std::string text = value.names[value.index];
    const bool is_flag = std::ranges::count(value.names, "true") > 0;
    const auto is_word = [](const std::string& one) { return one != "true" && one != "false"; };
    const bool is_read = take(name, text, rules, [&](auto& setting) {
      return is_flag ? table_.read_flag_or(name, setting, *std::ranges::find_if(value.names, is_word))
                     : table_.read(name, setting, value.names);
    });
    value.index = static_cast<size_t>(std::ranges::find(value.names, text) - value.names.begin());
    return is_read;
  }

 private:
  template <class T, class... More>
  bool read(const char* name, T& value, const KeyRules& rules, const More&... more) {
    return take(name, value, rules, [&](auto& setting) { return table_.read(name, setting, more...); });
  }

  template <class T, class Read>
  bool take(const char* name, T& value, const KeyRules& rules, const Read& read_into) {
    Setting<T> setting;
    const KeyDeclaration key = read_into(setting);
    if (rules.on_resume) key.on_resume(*rules.on_resume);
    key.describe(rules.doc);
    const bool is_set = setting.value.has_value();
    found_[table_.path().empty() ? name : table_.path() + "." + name] = {is_set, setting.place};
    if (is_set) value = std::move(*setting.value);
    return is_set;
  }

  TableReader& table_;
  std::map<std::string, FoundKey>& found_;
};

}  // namespace tenon::config
