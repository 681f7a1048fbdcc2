// The error of a plugin function from which an exception escaped.
#pragma once

#include <string>

#include "framework/support/diagnostics/error.h"

namespace tenon::components {

class EscapedException : public support::Error {
 public:
  explicit EscapedException(const std::string& message) : Error(support::ErrorKind::plugin, message) {}
};

}  // namespace tenon::components
