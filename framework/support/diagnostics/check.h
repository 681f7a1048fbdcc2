// TENON_CHECK: a precondition that fails only because of a bug in Tenon. User errors are an Error with a location.
#pragma once

#include <sstream>

#include "framework/support/diagnostics/error.h"

namespace tenon::support {

[[noreturn]] inline void throw_check_failed(const char* condition, const std::string& details, const char* file,
                                            int line) {
  std::ostringstream message;
  message << file << ':' << line << ": internal error: " << condition << " does not hold";
  if (!details.empty()) message << ": " << details;
  throw Error(ErrorKind::internal, message.str());
}

}  // namespace tenon::support

// Example: TENON_CHECK(rank < world_size, "rank " << rank << ", world size " << world_size)
#define TENON_CHECK(condition, ...)                                                                    \
  do {                                                                                                 \
    if (!(condition)) {                                                                                \
      std::ostringstream tenon_check_details;                                                          \
      tenon_check_details << __VA_ARGS__;                                                              \
      ::tenon::support::throw_check_failed(#condition, tenon_check_details.str(), __FILE__, __LINE__); \
    }                                                                                                  \
  } while (false)
