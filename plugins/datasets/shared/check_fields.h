// Checks the fields that a file gives a dataset. The host would refuse them as a fault of the plugin.
#pragma once

#include <string>
#include <vector>

#include <tenon/error.hpp>

namespace datasets {

// `names`: of the fields. `found`: "columns", for messages. `advice`: how to read fewer of them. Throws
// tenon::DataError that starts with `place` for more than 64 fields, and for a field without a name.
inline void check_fields(const std::vector<std::string>& names, const std::string& place, const std::string& found,
                         const std::string& advice) {
  constexpr size_t kMostFields = 64;  // the limit of the host
  if (names.size() > kMostFields) {
    throw tenon::DataError(place + ": has " + std::to_string(names.size()) + ' ' + found + "; expected at most " +
                           std::to_string(kMostFields) + "; " + advice);
  }
  for (const std::string& name : names) {
    if (name.empty()) throw tenon::DataError(place + ": one of the " + found + " has no name; " + advice);
  }
}

// `count`: of the dimensions of an array. Throws tenon::DataError that starts with `place` for more than 64.
inline void check_dimensions(size_t count, const std::string& place) {
  constexpr size_t kMostDimensions = 64;  // the limit of the host for the fields of a sample
  if (count <= kMostDimensions) return;
  throw tenon::DataError(place + ": has " + std::to_string(count) + " dimensions; expected at most " +
                         std::to_string(kMostDimensions));
}

}  // namespace datasets
