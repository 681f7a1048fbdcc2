// The declared keys next to `use` in [optimizer], [schedule] and [[data.batch_transform]]: as schemas, and from the
// values that a schema has checked.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "framework/config/file/keys.h"
#include "framework/config/file/run_config.h"
#include "framework/config/toml/diagnostics.h"
#include "framework/config/values/component_schema.h"
#include "framework/config/values/text_values.h"

namespace tenon::config {

// Makes the schema of each key, with the present value as its default.
class SchemaKeys : public Keys<SchemaKeys> {
 public:
  template <class T>
  bool visit(const char* name, const T& value, const KeyRules& rules) {
    return add(name, type_of(value), value, rules);
  }
  template <size_t N>
  bool visit(const char* name, const std::array<double, N>& value, const KeyRules& rules) {
    return add(name, ParamType::floats, std::vector<double>(value.begin(), value.end()), rules);
  }
  // A length is text to the schema. resolve_schedule() converts numbers to text before the check.
  bool visit(const char* name, const ScheduleLength& value, const KeyRules& rules) {
    return add(name, ParamType::string, to_text(value), rules);
  }
  bool visit(const char* name, const std::vector<ScheduleLength>& /*value*/, const KeyRules& rules) {
    return add(name, ParamType::strings, std::vector<std::string>(), rules);
  }
  bool visit(const char* name, const NamedChoice& value, const KeyRules& rules) {
    KeyRules of_text = rules;
    of_text.choices = value.names;
    return add(name, ParamType::string, value.names[value.index], of_text);
  }

  std::vector<ParamSchema> take() { return std::move(schemas_); }

 private:
  static ParamType type_of(bool) { return ParamType::boolean; }
  static ParamType type_of(int64_t) { return ParamType::integer; }
  static ParamType type_of(double) { return ParamType::floating; }
  static ParamType type_of(const std::string&) { return ParamType::string; }
  static ParamType type_of(const std::vector<std::string>&) { return ParamType::strings; }
  static ParamType type_of(const std::vector<double>&) { return ParamType::floats; }

  bool add(const char* name, ParamType type, Value value, const KeyRules& rules) {
    ParamSchema schema = parse_param_schema(name, type, "", rules.range, rules.choices, rules.doc);
    if (!rules.is_required) schema.default_value = std::move(value);
    schemas_.push_back(std::move(schema));
    return false;
  }

  std::vector<ParamSchema> schemas_;
};

// Takes the values of a table that resolve_choice() has checked.
class ValueKeys : public Keys<ValueKeys> {
 public:
  // All must outlive this object. `config`: the table, for messages.
  ValueKeys(const Values& values, const ComponentConfig& config, Diagnostics& diagnostics)
      : values_(values), config_(config), diagnostics_(diagnostics) {}

  template <class T>
  bool visit(const char* name, T& value, const KeyRules& /*rules*/) {
    value = std::get<T>(values_.at(name));
    return true;
  }
  bool visit(const char* name, ScheduleLength& value, const KeyRules& /*rules*/) {
    value = to_length(std::get<std::string>(values_.at(name)));
    return true;
  }
  bool visit(const char* name, std::vector<ScheduleLength>& value, const KeyRules& /*rules*/) {
    for (const std::string& text : std::get<std::vector<std::string>>(values_.at(name)))
      value.push_back(to_length(text));
    return true;
  }
  bool visit(const char* name, NamedChoice& value, const KeyRules& /*rules*/) {
    const auto& text = std::get<std::string>(values_.at(name));
    value.index = static_cast<size_t>(std::ranges::find(value.names, text) - value.names.begin());
    return true;
  }
  // A list of another length adds an error.
  template <size_t N>
  bool visit(const char* name, std::array<double, N>& value, const KeyRules& /*rules*/) {
    static_assert(N == 2 || N == 3);
    const auto& list = std::get<std::vector<double>>(values_.at(name));
    if (list.size() != N) {
      const Node& written = config_.params.at(name);
      diagnostics_.add(written.place, "{}.{} is {}; expected {} numbers, such as {}", config_.path, name,
                       describe(written), N == 2 ? "two" : "three",
                       to_toml(std::vector<double>(value.begin(), value.end())));
      return false;
    }
    std::ranges::copy(list, value.begin());
    return true;
  }

 private:
  const Values& values_;
  const ComponentConfig& config_;
  Diagnostics& diagnostics_;
};

}  // namespace tenon::config
