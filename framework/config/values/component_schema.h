// The schema of a component: its parameters. The catalogue creates schemas from the tables of the plugins.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "framework/config/toml/value.h"

namespace tenon::config {

enum class ComponentKind { model, dataset, loss, metric, callback, transform };
const char* to_string(ComponentKind kind);  // "model", ...

struct ComponentName {
  ComponentKind kind;
  std::string id;

  auto operator<=>(const ComponentName&) const = default;
};

enum class ParamType { boolean, integer, floating, string, path, integers, floats, strings };
const char* to_string(
    ParamType type);  // "a boolean", "an integer", "a number", "a string", "a path", "a list of integers", ...

// An interval of the real line, as written in the schema: `[1, inf)`, `(0, 1]`.
struct Interval {
  double lower;
  double upper;
  bool lower_closed;
  bool upper_closed;
  bool contains(double number) const;  // false for NaN
  bool operator==(const Interval&) const = default;
};

// Throws std::invalid_argument that describes the error in the text.
Interval parse_interval(const std::string& text);

struct ParamSchema {
  std::string name;
  ParamType type;
  std::optional<Value> default_value;  // none: the parameter is required
  std::string range_text;              // "" : any
  std::optional<Interval> range;
  std::vector<std::string> choices;  // empty: any
  std::string doc;

  bool operator==(const ParamSchema&) const = default;
};

struct ComponentSchema {
  ComponentKind kind;
  std::string id;
  std::string doc;
  std::vector<ParamSchema> params;

  bool operator==(const ComponentSchema&) const = default;
};

// Creates a ParamSchema from the texts of a plugin. Verifies that range and default parse, and that the default
// satisfies type, range and choices. Throws std::invalid_argument that describes the error, without the component's
// name. `default_toml` is a TOML value, or empty for a required parameter.
ParamSchema parse_param_schema(const std::string& name, ParamType type, const std::string& default_toml,
                               const std::string& range, const std::vector<std::string>& choices,
                               const std::string& doc);

// Interface through which resolve_run_plan() finds components. The catalogue implements it.
class SchemaSource {
 public:
  virtual ~SchemaSource() = default;
  virtual const ComponentSchema* find_schema(ComponentKind kind, const std::string& id) const = 0;  // null: unknown
  virtual std::vector<std::string> component_ids(ComponentKind kind) const = 0;                     // sorted
  // The searched folders, for the message about a missing component: "searched: a, b".
  virtual std::string describe_search() const = 0;
};

}  // namespace tenon::config
