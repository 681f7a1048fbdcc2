#include "framework/config/values/component_schema.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "framework/config/values/check_value.h"
#include "framework/formats/snake_case.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::config {
namespace {

bool is_numeric(ParamType type) {
  return type == ParamType::integer || type == ParamType::floating || type == ParamType::integers ||
         type == ParamType::floats;
}

std::string_view strip(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

[[noreturn]] void throw_bad_interval(const std::string& text, const std::string& why) {
  throw std::invalid_argument(
      fmt::format("the range `{}` {}; expected an interval such as `[1, inf)` or `(0, 1]`", text, why));
}

double parse_end(const std::string& text, std::string_view end) {
  end = strip(end);
  const auto number = formats::parse_number<double>(end);
  if (!number || std::isnan(*number))
    throw_bad_interval(text, fmt::format("has the bound `{}`, which is not a number", end));
  return *number;
}

std::optional<Node> parse_default(const std::string& toml, const std::string& name) try {
  return parse_toml_value(toml, {"the default of " + name});
} catch (const support::Error& error) {
  throw std::invalid_argument(error.what());
}

void require_lower_snake_case(const std::string& name) {
  if (formats::is_lower_snake_case(name)) return;
  throw std::invalid_argument(fmt::format("a parameter has the name \"{}\"; expected a lower_snake_case name", name));
}

}  // namespace

const char* to_string(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::model: return "model";
    case ComponentKind::dataset: return "dataset";
    case ComponentKind::loss: return "loss";
    case ComponentKind::metric: return "metric";
    case ComponentKind::callback: return "callback";
    case ComponentKind::transform: return "transform";
  }
  return "component";
}

const char* to_string(ParamType type) {
  switch (type) {
    case ParamType::boolean: return "a boolean";
    case ParamType::integer: return "an integer";
    case ParamType::floating: return "a number";
    case ParamType::string: return "a string";
    case ParamType::path: return "a path";
    case ParamType::integers: return "a list of integers";
    case ParamType::floats: return "a list of numbers";
    case ParamType::strings: return "a list of strings";
  }
  return "a value";
}

bool Interval::contains(double number) const {
  const bool above = lower_closed ? number >= lower : number > lower;
  const bool below = upper_closed ? number <= upper : number < upper;
  return above && below;
}

Interval parse_interval(const std::string& text) {
  const std::string_view stripped = strip(text);
  const size_t comma = stripped.find(',');
  const bool has_brackets = stripped.size() > 2 && (stripped.front() == '[' || stripped.front() == '(') &&
                            (stripped.back() == ']' || stripped.back() == ')');
  if (!has_brackets || comma == stripped.npos) throw_bad_interval(text, "is not an interval");
  Interval interval;
  interval.lower_closed = stripped.front() == '[';
  interval.upper_closed = stripped.back() == ']';
  interval.lower = parse_end(text, stripped.substr(1, comma - 1));
  interval.upper = parse_end(text, stripped.substr(comma + 1, stripped.size() - comma - 2));
  const bool is_point = interval.lower == interval.upper && interval.lower_closed && interval.upper_closed;
  if (!(interval.lower < interval.upper) && !is_point) throw_bad_interval(text, "is empty");
  return interval;
}

ParamSchema parse_param_schema(const std::string& name, ParamType type, const std::string& default_toml,
                               const std::string& range, const std::vector<std::string>& choices,
                               const std::string& doc) {
  require_lower_snake_case(name);
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument(fmt::format("parameter {}: {}", name, what));
  };
  ParamSchema schema{name, type, std::nullopt, range, std::nullopt, choices, doc};
  if (!range.empty() && !is_numeric(type)) refuse(std::string("it has a range, but its type is ") + to_string(type));
  if (!choices.empty() && type != ParamType::string && type != ParamType::strings)
    refuse(std::string("it has choices, but its type is ") + to_string(type));
  try {
    if (!range.empty()) schema.range = parse_interval(range);
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
  if (default_toml.empty()) return schema;
  const auto node = parse_default(default_toml, name);
  if (!node) refuse(fmt::format("the default `{}` is not a TOML value", default_toml));
  schema.default_value = check_value(*node, schema);
  if (!schema.default_value) refuse("the default is " + describe_mismatch(*node, schema));
  return schema;
}

}  // namespace tenon::config
