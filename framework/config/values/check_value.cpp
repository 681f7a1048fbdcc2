#include "framework/config/values/check_value.h"

#include <algorithm>
#include <cmath>

#include "framework/config/values/suggest_value.h"
#include "framework/config/values/transform_presets.h"
#include "framework/support/text/format.h"

namespace tenon::config {
namespace {

template <class T>
std::optional<T> read_scalar(const Node& node) {
  const T* held = std::get_if<T>(&node.value);
  return held != nullptr ? std::optional<T>(*held) : std::nullopt;
}

template <>
std::optional<double> read_scalar<double>(const Node& node) {
  if (const auto* integer = std::get_if<int64_t>(&node.value)) return static_cast<double>(*integer);
  const auto* number = std::get_if<double>(&node.value);
  return number != nullptr ? std::optional<double>(*number) : std::nullopt;
}

template <class T>
std::optional<Value> read_value(const Node& node) {
  const auto scalar = read_scalar<T>(node);
  return scalar ? std::optional<Value>(*scalar) : std::nullopt;
}

template <class T>
std::optional<Value> read_list(const Node& node) {
  const Node::Array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<T> list;
  for (const Node& element : *array) {
    const auto scalar = read_scalar<T>(element);
    if (!scalar) return std::nullopt;
    list.push_back(*scalar);
  }
  return list;
}

std::optional<Value> read_as(const Node& node, ParamType type) {
  switch (type) {
    case ParamType::boolean: return read_value<bool>(node);
    case ParamType::integer: return read_value<int64_t>(node);
    case ParamType::floating: return read_value<double>(node);
    case ParamType::string:
    case ParamType::path: return read_value<std::string>(node);
    case ParamType::integers: return read_list<int64_t>(node);
    case ParamType::floats: return read_list<double>(node);
    case ParamType::strings: return read_list<std::string>(node);
  }
  return std::nullopt;
}

// Checks whether the schema allows a number or string.
struct Allowed {
  const ParamSchema& schema;

  bool operator()(bool) const { return true; }
  bool operator()(int64_t number) const { return (*this)(static_cast<double>(number)); }
  bool operator()(double number) const { return !schema.range || schema.range->contains(number); }
  bool operator()(const std::string& text) const {
    const auto& choices = schema.choices;
    return choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end();
  }
  template <class T>
  bool operator()(const std::vector<T>& list) const {
    return std::all_of(list.begin(), list.end(), *this);
  }
};

// Examples: " of at least 1", " above 0", " in [0, 1)". Empty if any value is allowed.
std::string describe_range(const ParamSchema& schema) {
  if (!schema.range) return "";
  const Interval& range = *schema.range;
  const bool has_lower = std::isfinite(range.lower);
  const bool has_upper = std::isfinite(range.upper);
  if (has_lower && has_upper) return " in " + schema.range_text;
  if (has_lower) return (range.lower_closed ? " of at least " : " above ") + fmt::format("{}", range.lower);
  if (has_upper) return (range.upper_closed ? " of at most " : " below ") + fmt::format("{}", range.upper);
  return " that is finite";
}

std::string describe_choices(const std::vector<std::string>& choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += to_toml(choices[i]);
  }
  return text;
}

bool is_list(ParamType type) {
  return type == ParamType::integers || type == ParamType::floats || type == ParamType::strings;
}

// Returns the list of the preset that the node names.
std::optional<Value> expand_preset(const Node& node, const ParamSchema& schema) {
  const std::string* name = node.as_string();
  if (name == nullptr) return std::nullopt;
  for (const TransformPreset& preset : presets_of(schema))
    if (preset.name == *name) return preset.transforms;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> allowed_texts(const ParamSchema& schema) {
  std::vector<std::string> texts = schema.choices;
  for (const TransformPreset& preset : presets_of(schema)) texts.push_back(preset.name);
  return texts;
}

std::optional<Value> check_value(const Node& node, const ParamSchema& schema) {
  if (auto expanded = expand_preset(node, schema)) return expanded;
  const auto value = read_as(node, schema.type);
  return value && std::visit(Allowed{schema}, *value) ? value : std::nullopt;
}

std::string describe_expected(const ParamSchema& schema) {
  const std::string type = to_string(schema.type);
  if (!presets_of(schema).empty()) return type + " or a preset: " + describe_choices(allowed_texts(schema));
  if (is_list(schema.type)) {
    const std::string each = schema.choices.empty() ? describe_range(schema) : " " + describe_choices(schema.choices);
    return each.empty() ? type : type + ", each" + each;
  }
  return schema.choices.empty() ? type + describe_range(schema) : describe_choices(schema.choices);
}

std::string describe_mismatch(const Node& node, const ParamSchema& schema) {
  return describe(node) + "; expected " + describe_expected(schema) + suggest_value(node, schema);
}

}  // namespace tenon::config
