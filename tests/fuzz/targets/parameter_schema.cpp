// Reads arbitrary texts as the schema of a parameter, as a plugin declares it, and a run file's value for it:
//   line 1   the type, a digit
//   line 2   the default in TOML
//   line 3   the range
//   line 4   the choices, separated by |
//   then     the parameters in the run file
// A schema that is accepted has a default within its range and choices, and so has every value that it accepts.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/config/resolve/resolve_component.h"
#include "framework/config/toml/toml_tree.h"
#include "framework/config/values/component_schema.h"
#include "framework/support/diagnostics/error.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon;
using namespace tenon::config;
using fuzz::require;

bool is_allowed(const ParamSchema& schema, double number) { return !schema.range || schema.range->contains(number); }

bool is_allowed(const ParamSchema& schema, const std::string& text) {
  return schema.choices.empty() || std::ranges::find(schema.choices, text) != schema.choices.end();
}

template <class T>
bool is_allowed(const ParamSchema& schema, const std::vector<T>& values) {
  return std::ranges::all_of(values, [&](const T& value) { return is_allowed(schema, value); });
}

void check_value(const ParamSchema& schema, const Value& value) {
  constexpr size_t kIndexOfType[] = {0, 1, 2, 3, 3, 4, 5, 6};
  require(value.index() == kIndexOfType[static_cast<size_t>(schema.type)]);
  if (schema.type != ParamType::boolean && schema.type != ParamType::path)
    std::visit([&](const auto& content) { require(is_allowed(schema, content)); }, value);
  const auto read = parse_toml_value(to_toml(value), {});
  require(read.has_value());
  require(to_toml(value) == read->text);
}

std::vector<std::string> split_choices(std::string_view text) {
  std::vector<std::string> choices;
  while (!text.empty()) choices.emplace_back(fuzz::take_until(text, "|"));
  return choices;
}

void check_given_values(const ParamSchema& schema, std::string_view toml) {
  const Node given = parse_toml(std::string(toml), "run.toml");
  RunConfig config;
  config.folder = "/folder";
  const std::vector<ParamSchema> schemas = {schema};
  Diagnostics diagnostics;
  const Values values =
      resolve_params({"component", schemas, *given.as_table(), "model.params", {}, config}, diagnostics);
  diagnostics.throw_if_any();
  require(values.size() == 1);
  check_value(schema, values.begin()->second);
}

}  // namespace

TENON_FUZZ_TARGET(parameter_schema) {
  std::string_view text = fuzz::as_text(input);
  const std::string_view type = fuzz::take_until(text, "\n");
  const std::string default_toml(fuzz::take_until(text, "\n"));
  const std::string range(fuzz::take_until(text, "\n"));
  const std::string_view choices = fuzz::take_until(text, "\n");
  if (type.size() != 1 || type[0] < '0' || type[0] > '7') return;
  try {
    const ParamSchema schema = parse_param_schema("size", static_cast<ParamType>(type[0] - '0'), default_toml, range,
                                                  split_choices(choices), "");
    if (schema.default_value) check_value(schema, *schema.default_value);
    check_given_values(schema, text);
  } catch (const std::invalid_argument&) {
  } catch (const support::Error& error) {
    require(error.kind() == support::ErrorKind::configuration);
  }
}
