// What an exception means to the user: a message and an exit code.
#pragma once

#include <exception>
#include <string>

namespace tenon::host {

struct Failure {
  std::string message;
  int exit_code;
};

// An Error says both itself. Where memory ran out, whoever noticed it, the message says what takes less. Anything else
// is a mistake of ours.
Failure describe_failure(const std::exception& exception);

}  // namespace tenon::host
