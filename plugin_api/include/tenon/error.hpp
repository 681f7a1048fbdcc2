// A plugin in C++ reports errors by throwing an exception. No exception reaches the host: each function of the tables
// catches all exceptions and passes status and message to the host. The host adds the plugin, the component, the
// function, and the sample or step. A message therefore only states what was found and what was expected.
#pragma once

#include <stdexcept>
#include <string>

#include "abi.h"

namespace tenon {

// An error with a status. Any other std::exception is reported as TENON_FAILED with its what().
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : Error(TENON_FAILED, message) {}
  // REQUIRES: status != TENON_OK.
  Error(tenon_status status, const std::string& message)
      : std::runtime_error(message), status_(status == TENON_OK ? static_cast<tenon_status>(TENON_FAILED) : status) {}

  tenon_status status() const noexcept { return status_; }

 private:
  tenon_status status_;
};

// A sample or a file of the data cannot be read. The run ends with the exit code for data errors.
class DataError : public Error {
 public:
  explicit DataError(const std::string& message) : Error(TENON_BAD_DATA, message) {}
};

// A function of the host failed. The host already has the error message, so the guard adds none when this exception
// leaves the plugin.
class HostError : public Error {
 public:
  explicit HostError(tenon_status status)
      : Error(status, "a call to the host failed; see the error message of the host") {}
};

}  // namespace tenon
