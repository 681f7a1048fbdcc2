// Runs a function in a separate process, which may crash, hang, exit or corrupt its memory without harm to this one.
#pragma once

#include <functional>
#include <string>

namespace tenon::validation {

struct ChildEnd {
  enum class How { finished, exited, crashed, timed_out };
  How how;
  int code;              // exited: the exit code; crashed: the signal
  std::string result;    // finished: what the body returned
  std::string output;    // the end of its standard output and standard error
  std::string function;  // the plugin function that it was in, with its detail; empty: none

  std::string describe() const;  // "crashed with SIGSEGV in get (sample 3)"
};

// Runs the body in a forked child process with standard input closed. Kills the child and its children if the child
// neither ends nor updates its trail within the time limit. REQUIRES: this process has one thread, because a lock held
// by another thread would stay locked in the child.
ChildEnd run_in_child(const std::function<std::string()>& body, double timeout_s);

size_t count_threads();  // of this process

// Records the plugin function that this process is in, for ChildEnd::function. Called on the main thread.
void record_call(const std::string& function, const std::string& detail);
void clear_call_record();

}  // namespace tenon::validation
