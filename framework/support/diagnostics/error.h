// Errors with a message for the user and a kind that determines the exit code.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "framework/support/text/format.h"

namespace tenon::support {

// The values are the exit codes of the process (docs/reference/exit_codes.md). 0 is success, 128 + n is signal n.
enum class ErrorKind : int {
  internal = 1,        // a bug in Tenon
  configuration = 2,   // the command line or the run file
  plugin = 3,          // a plugin cannot be loaded, or one of its functions failed
  data = 4,            // a sample or a data file
  checkpoint = 5,      // a weights or checkpoint file
  rank_lost = 6,       // another rank exited
  non_finite = 7,      // the loss is NaN or infinite
  out_of_memory = 10,  // on the machine or the device; 8 and 9 are results of commands
  system = 11,         // the machine failed: a full disk, a quota
  device = 12          // CUDA or one of its libraries failed
};

// The kind of an Error that ends a run because of a signal.
inline ErrorKind kind_of_signal(int signal) { return static_cast<ErrorKind>(128 + signal); }

// The message states the location, what was found, what was expected and what to do. It is complete. Code that catches
// it only adds where the call came from.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  // The message is fmt::format(format, arguments...).
  template <class Argument, class... More>
  Error(ErrorKind kind, fmt::format_string<Argument, More...> format, Argument&& argument, More&&... more)
      : Error(kind, fmt::format(format, std::forward<Argument>(argument), std::forward<More>(more)...)) {}
  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

}  // namespace tenon::support
