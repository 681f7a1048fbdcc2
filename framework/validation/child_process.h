// Work in a process of its own, which may crash, hang, exit or ruin its memory without harm to this one.
#pragma once

#include <functional>
#include <string>

namespace tenon::validation {

struct ChildEnd {
  enum class How { finished, exited, crashed, timed_out };
  How how;
  int code;              // exited: the exit code; crashed: the signal
  std::string result;    // finished: what the body returned
  std::string output;    // the end of what it wrote to standard output and standard error
  std::string function;  // the plugin's function that it was in, with its detail; empty: none

  std::string describe() const;  // "crashed with SIGSEGV in get (sample 3)"
};

// Runs the body in a forked child with standard input closed, and ends the child and all of its own children when for
// the time limit it neither ended nor left or cleared a trail. REQUIRES: this process has one thread, so that no lock
// is left taken in the child.
ChildEnd run_in_child(const std::function<std::string()>& body, double timeout_s);

// Notes where in the plugin this process is, for ChildEnd::function. Of the main thread.
void leave_trail(const std::string& function, const std::string& detail);
void clear_trail();

}  // namespace tenon::validation
