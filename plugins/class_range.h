// The error for a target that is not a class.
#pragma once

#include <tenon/error.hpp>

#include <cstdint>
#include <string>

namespace tenon::components {

inline DataError outside_classes(int64_t target, int64_t classes, int64_t ignore_index) {
  return DataError("a target is " + std::to_string(target) + "; expected a class from 0 to " +
                   std::to_string(classes - 1) + ", or ignore_index (" + std::to_string(ignore_index) + ")");
}

}  // namespace tenon::components
