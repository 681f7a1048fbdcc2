// Warnings of code that also runs outside of a host, such as in tests.
#pragma once

#include <string>

#include <tenon/log.hpp>

namespace datasets {

inline void warn(const std::string& line) {
  if (tenon::detail::host) tenon::log_warning(line);
}

inline void inform(const std::string& line) {
  if (tenon::detail::host) tenon::log_info(line);
}

}  // namespace datasets
