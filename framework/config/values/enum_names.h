// The names of an enum's values in the run file, declared once, next to the enum:
// `template <> inline constexpr std::array kNames<Shard> = {EnumName{Shard::none, "none"}, ...};`
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace tenon::config {

template <class E>
struct EnumName {
  E value;
  const char* name;
};
// Clang 14 does not deduce E of an aggregate.
template <class E>
EnumName(E, const char*) -> EnumName<E>;

template <class E>
inline constexpr std::nullptr_t kNames = nullptr;

template <class E>
concept NamedEnum = requires {
  kNames<E>.size();
};

template <NamedEnum E>
std::string to_string(E value) {
  for (const EnumName<E>& one : kNames<E>)
    if (one.value == value) return one.name;
  return "unknown";
}

}  // namespace tenon::config
