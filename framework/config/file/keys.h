// What all visitors of key declarations share. A key of the run file is declared once, in a function
// `declare(keys, section)`: `keys("keep", checkpoint.keep, {.range = "[1, 1e9]"})`. The default is the value of a new
// section. A visitor reads the keys (ReadKeys), writes them to plan.toml (WriteKeys), or describes them (SchemaKeys).
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/config/values/enum_names.h"
#include "framework/config/values/text_values.h"

namespace tenon::config {

// What a run that resumes may change.
enum class ResumePolicy {
  reported,            // may change; the log reports it
  ignored,             // may change; results do not depend on it
  fixed_within_epoch,  // may change between epochs: it determines the remaining samples of an epoch
  fixed                // may never change: it determines the layout of the saved state
};

struct KeyRules {
  const char* range = "";                                // of numbers, see parse_interval
  std::vector<std::string> choices = {};                 // of a list of texts; empty: any
  Fractions fractions = Fractions::no;                   // of a period
  std::optional<int64_t> automatic = std::nullopt;       // the number that "auto" stands for; none: "auto" is no value
  bool is_required = false;                              // of a key next to `use`: it has no default
  bool is_written = true;                                // to plan.toml
  std::optional<ResumePolicy> on_resume = std::nullopt;  // none: that of the table
  const char* doc = "";
};

// A value of an enum for visitors. The names "false" and "true" are TOML's booleans.
struct NamedChoice {
  std::vector<std::string> names;
  size_t index;
};

// An optimizer or a schedule by its `use`, with its defaults.
template <class Plan>
struct PlanChoice {
  const char* use;
  Plan defaults;
};

// Derived has `bool visit(name, value, rules)` for the types of TOML and of its sections, which returns whether the
// visitor has read the key.
template <class Derived>
class Keys {
 public:
  template <class T>
  bool operator()(const char* name, T& value, const KeyRules& rules = {}) {
    if constexpr (NamedEnum<T>) {
      NamedChoice choice{{}, 0};
      for (const auto& one : kNames<T>) {
        if (one.value == value) choice.index = choice.names.size();
        choice.names.emplace_back(one.name);
      }
      const bool is_read = self().visit(name, choice, rules);
      value = kNames<T>[choice.index].value;
      return is_read;
    } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
      return as<std::string>(name, value, value.string(), rules);
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, int64_t>) {
      return as<int64_t>(name, value, static_cast<int64_t>(value), rules);
    } else if constexpr (is_optional(static_cast<T*>(nullptr))) {
      typename T::value_type inner = value.value_or(typename T::value_type());
      KeyRules of_inner = rules;
      of_inner.is_written = rules.is_written && value.has_value();
      const bool is_read = (*this)(name, inner, of_inner);
      if (is_read) value = std::move(inner);
      return is_read;
    } else {
      return self().visit(name, value, rules);
    }
  }

  // The policy of the keys that are declared afterwards.
  void on_resume(ResumePolicy /*policy*/) {}

 private:
  template <class T>
  static constexpr bool is_optional(const std::optional<T>*) {
    return true;
  }
  static constexpr bool is_optional(const void*) { return false; }

  Derived& self() { return static_cast<Derived&>(*this); }

  template <class As, class T>
  bool as(const char* name, T& value, As other, const KeyRules& rules) {
    const bool is_read = self().visit(name, other, rules);
    if (is_read) value = static_cast<T>(std::move(other));
    return is_read;
  }
};

}  // namespace tenon::config
