// What an error says, and what a text contains.
#pragma once

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "framework/support/diagnostics/error.h"

namespace tenon {

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// How often the text contains the part.
inline size_t count_parts(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The message of the Error that `act` throws, or `otherwise` without an Error. `kind` must be the kind of the error.
template <class Act>
std::string find_error(support::ErrorKind kind, const Act& act, const std::string& otherwise = "accepted") {
  try {
    act();
  } catch (const support::Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return otherwise;
}

}  // namespace tenon
