// A number with a noun in singular or plural.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::support {

// "1 batch", "2 batches". `many`: the plural if it is not `one` with an s.
inline std::string print_count(int64_t count, const std::string& one, const std::string& many = "") {
  return std::to_string(count) + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

}  // namespace tenon::support
