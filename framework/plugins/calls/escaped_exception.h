// The error of a plugin function from which an exception escaped.
#pragma once

#include <string>

#include "framework/support/error.h"

namespace tenon::plugins {

class EscapedException : public support::Error {
 public:
  explicit EscapedException(const std::string& message) : Error(support::ErrorKind::plugin, message) {}
};

}  // namespace tenon::plugins
