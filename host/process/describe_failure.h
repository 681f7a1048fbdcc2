// Converts an exception to a message and an exit code.
#pragma once

#include <exception>
#include <string>

namespace tenon::host {

struct Failure {
  std::string message;
  int exit_code;
};

// An Error has both. If an allocation failed, in the host, LibTorch or a plugin, the message suggests settings that use
// less memory, and names the limit of the address space if there is one. Any other exception is an internal error.
Failure describe_failure(const std::exception& exception);

}  // namespace tenon::host
