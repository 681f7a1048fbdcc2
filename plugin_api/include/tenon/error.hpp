// How a plugin written in C++ says that something went wrong: it throws. No exception reaches the host: each function
// of the tables catches everything and hands status and text to the host, which adds plugin, component, function and
// sample or step. So a message only says what was found and what was expected.
#pragma once

#include <stdexcept>
#include <string>

#include "abi.h"

namespace tenon {

// Any other std::exception counts as TENON_FAILED with its what().
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

// A sample or a file of the data cannot be read: the run ends with the exit code for data.
class DataError : public Error {
 public:
  explicit DataError(const std::string& message) : Error(TENON_BAD_DATA, message) {}
};

// A function of the host failed. The host has its text already, so that none is added when this leaves the plugin.
class HostError : public Error {
 public:
  explicit HostError(tenon_status status) : Error(status, "the host refused a call; its own message says why") {}
};

}  // namespace tenon
