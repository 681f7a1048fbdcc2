// What went wrong, in words for the user, and the exit code that says which kind it was.
#pragma once

#include <stdexcept>
#include <string>

namespace tenon::support {

// The values are the process's exit codes (docs/exit_codes.md). 0 is success; 128 + n means signal n.
enum class ErrorKind : int {
  internal = 1,       // a mistake of ours
  configuration = 2,  // the command line or the run file
  plugin = 3,         // a plugin cannot be loaded, or a function of it failed
  data = 4,           // a sample or a file of the data
  checkpoint = 5,     // a file of weights or of a checkpoint
  rank_lost = 6,      // another rank ended
  non_finite = 7,     // the loss is NaN or infinite
  out_of_memory = 10  // of the machine or the device; 8 and 9 are what commands find
};

// The message reads: place, what was found, what was expected, what to do. It is complete; whoever catches it only adds
// where the call came from.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

}  // namespace tenon::support
