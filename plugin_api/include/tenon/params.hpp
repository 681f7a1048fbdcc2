// Parameters of a component. The component declares them once as a schema and reads them in its constructor. Before
// that, the host checks the values against the schema and fills in the defaults.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "detail/detect.hpp"
#include "detail/guard.hpp"
#include "parameter_roles.h"
#include "parameters.h"

namespace tenon {

// The default of a parameter that is a file or folder. A relative path is relative to the folder of the run file.
struct Path {
  std::string text;
};

namespace detail {

template <class T, class Element>
inline constexpr bool is_list_of = std::is_same_v<T, std::vector<Element>>;

// The TENON_PARAM_... constant of a C++ type.
template <class T>
constexpr uint32_t param_type() {
  if constexpr (std::is_same_v<T, bool>) {
    return TENON_PARAM_BOOL;
  } else if constexpr (std::is_integral_v<T>) {
    return TENON_PARAM_INT;
  } else if constexpr (std::is_floating_point_v<T>) {
    return TENON_PARAM_FLOAT;
  } else if constexpr (std::is_same_v<T, Path>) {
    return TENON_PARAM_PATH;
  } else if constexpr (is_list_of<T, int64_t> || is_list_of<T, int>) {
    return TENON_PARAM_INTS;
  } else if constexpr (is_list_of<T, double>) {
    return TENON_PARAM_FLOATS;
  } else if constexpr (is_list_of<T, std::string>) {
    return TENON_PARAM_STRINGS;
  } else {
    static_assert(std::is_convertible_v<T, std::string_view>,
                  "a parameter is a bool, integer, floating point number, string, tenon::Path, or a std::vector of "
                  "int64_t, double or std::string");
    return TENON_PARAM_STRING;
  }
}

inline std::string quote_toml(std::string_view text) {
  static const char* const kHex = "0123456789ABCDEF";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += "\\u00";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// Returns the shortest text that parses to the same number.
inline std::string print_toml(double number) {
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
  // TOML would parse 1 as an integer.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::string to_toml(const T& value) {
  constexpr uint32_t type = param_type<T>();
  if constexpr (type == TENON_PARAM_BOOL) {
    return value ? "true" : "false";
  } else if constexpr (type == TENON_PARAM_INT) {
    return std::to_string(value);
  } else if constexpr (type == TENON_PARAM_FLOAT) {
    return print_toml(value);
  } else if constexpr (type == TENON_PARAM_STRING) {
    return quote_toml(value);
  } else if constexpr (type == TENON_PARAM_PATH) {
    return quote_toml(value.text);
  } else {
    std::string text = "[";
    for (const auto& element : value) {
      if (text.size() > 1) text += ", ";
      text += to_toml(element);
    }
    return text + "]";
  }
}

}  // namespace detail

// One parameter of a schema. Create it with param() or required(), then chain the functions below:
//   tenon::param("samples", 1000).range("[1, inf)").doc("number of points")
class Param {
 public:
  Param(std::string name, uint32_t type, std::string default_toml)
      : name_(std::move(name)), type_(type), default_(std::move(default_toml)) {}

  // Sets the interval for a number, or for each element of a list of numbers: `[1, inf)`, `(0, 1]`.
  Param& range(std::string interval) {
    range_ = std::move(interval);
    return *this;
  }

  // Sets the allowed values of a string.
  Param& choices(std::vector<std::string> texts) {
    choices_ = std::move(texts);
    return *this;
  }

  // Sets the description: one sentence, with the unit.
  Param& doc(std::string sentence) {
    doc_ = std::move(sentence);
    return *this;
  }

  // Declares that the value is the name of a metric in the history, or a list of these. The host refuses a name that
  // the run does not have, see parameter_roles.h. REQUIRES: a string or a list of strings.
  Param& names_metric() { return with_role(TENON_ROLE_METRIC); }

  // Declares that the value lists folders and files to read in place of labelled data, see parameter_roles.h. REQUIRES:
  // a list of strings of a dataset, empty by default.
  Param& lists_unlabelled() { return with_role(TENON_ROLE_UNLABELLED); }

  // Declares that the value is a size of the data, see parameter_roles.h. The host finds it if the run file leaves it
  // out. REQUIRES: an integer of a model, a loss or a metric, with a default.
  Param& counts_classes() { return with_role(TENON_ROLE_CLASSES); }
  Param& counts_channels() { return with_role(TENON_ROLE_CHANNELS); }
  Param& counts_features() { return with_role(TENON_ROLE_FEATURES); }
  Param& counts_vocabulary() { return with_role(TENON_ROLE_VOCABULARY); }

  const std::string& name() const { return name_; }
  uint32_t role() const { return role_; }  // TENON_ROLE_...; 0: none

  // Returns a descriptor that borrows from this object. Stores the array of choices in `choices`.
  tenon_param describe(std::vector<tenon_string>& choices) const {
    for (const std::string& choice : choices_) choices.push_back(detail::borrow(choice));
    tenon_param param = {};
    param.size = sizeof param;
    param.name = detail::borrow(name_);
    param.type = type_;
    param.default_value = detail::borrow(default_);
    param.range = detail::borrow(range_);
    param.choices = choices.empty() ? nullptr : choices.data();
    param.choice_count = choices.size();
    param.doc = detail::borrow(doc_);
    return param;
  }

 private:
  Param& with_role(uint32_t role) {
    role_ = role;
    return *this;
  }

  std::string name_;
  uint32_t type_;
  std::string default_;
  std::string range_;
  std::vector<std::string> choices_;
  std::string doc_;
  uint32_t role_ = 0;
};

// A parameter with a default. The type of the parameter is the type of the default: bool, an integer, a floating-point
// number, a string, Path, or a std::vector of int64_t, double or std::string.
template <class T>
Param param(std::string name, const T& default_value) {
  using Value = std::decay_t<const T>;
  return Param(std::move(name), detail::param_type<Value>(), detail::to_toml<Value>(default_value));
}

// A parameter that every run file must set: tenon::required<int64_t>("classes").
template <class T>
Param required(std::string name) {
  return Param(std::move(name), detail::param_type<T>(), std::string());
}

// The parameter values of one component. Each function throws Error if the schema has no parameter of that name, or
// declares another type for it.
class Params {
 public:
  explicit Params(const tenon_params* params) : params_(params) {}

  bool boolean(std::string_view name) const {
    return read(name, TENON_VALUE_BOOL, TENON_VALUE_BOOL, "a boolean").as.i != 0;
  }
  int64_t integer(std::string_view name) const {
    return read(name, TENON_VALUE_INT, TENON_VALUE_INT, "an integer").as.i;
  }
  double number(std::string_view name) const {
    const tenon_value value = read(name, TENON_VALUE_FLOAT, TENON_VALUE_INT, "a number");
    return value.kind == TENON_VALUE_INT ? static_cast<double>(value.as.i) : value.as.f;
  }
  std::string text(std::string_view name) const {
    const tenon_value value = read(name, TENON_VALUE_STRING, TENON_VALUE_STRING, "a string");
    return detail::copy(tenon_make_string(static_cast<const char*>(value.as.p), value.n));
  }
  // Returns an absolute path.
  std::string path(std::string_view name) const { return text(name); }

  std::vector<int64_t> integers(std::string_view name) const {
    const tenon_value value = read(name, TENON_VALUE_INTS, TENON_VALUE_INTS, "a list of integers");
    const auto* data = static_cast<const int64_t*>(value.as.p);
    return std::vector<int64_t>(data, data + value.n);
  }
  std::vector<double> numbers(std::string_view name) const {
    const tenon_value value = read(name, TENON_VALUE_FLOATS, TENON_VALUE_INTS, "a list of numbers");
    if (value.kind == TENON_VALUE_INTS) {
      const auto* data = static_cast<const int64_t*>(value.as.p);
      return std::vector<double>(data, data + value.n);
    }
    const auto* data = static_cast<const double*>(value.as.p);
    return std::vector<double>(data, data + value.n);
  }
  std::vector<std::string> texts(std::string_view name) const {
    const tenon_value value = read(name, TENON_VALUE_STRINGS, TENON_VALUE_STRINGS, "a list of strings");
    const auto* data = static_cast<const tenon_string*>(value.as.p);
    std::vector<std::string> texts;
    for (uint64_t i = 0; i < value.n; ++i) texts.push_back(detail::copy(data[i]));
    return texts;
  }

  // For extensions of the host that read parameters.
  const tenon_params* handle() const { return params_; }

 private:
  tenon_value read(std::string_view name, uint32_t kind, uint32_t other_kind, const char* expected) const {
    tenon_value value = tenon_none();
    detail::check(detail::host->param(params_, detail::borrow(name), &value));
    if (value.kind != kind && value.kind != other_kind) {
      throw Error(TENON_INVALID_ARGUMENT, "parameter \"" + std::string(name) + "\" is read as " + expected +
                                              "; its schema declares another type");
    }
    return value;
  }

  const tenon_params* params_;
};

namespace detail {

TENON_DETECT(schema, T::schema());

template <class T>
TENON_HIDDEN std::vector<Param> schema_of() {
  static_assert(has_schema<T> == std::is_constructible_v<T, const Params&>,
                "a component with parameters needs both: a public static schema(), and a public constructor from const "
                "tenon::Params&");
  if constexpr (has_schema<T>) return T::schema();
  return {};
}

// Constructs a component from its parameters, or without arguments if it has no parameters.
template <class T>
TENON_HIDDEN T construct(const tenon_params* params) {
  if constexpr (std::is_constructible_v<T, const Params&>) {
    return T(Params(params));
  } else {
    static_assert(std::is_default_constructible_v<T>,
                  "a component needs a public constructor from const tenon::Params&, or one without arguments");
    return T();
  }
}

}  // namespace detail
}  // namespace tenon
