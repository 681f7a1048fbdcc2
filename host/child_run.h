// A run of this very program in a process of its own.
#pragma once

#include <string>
#include <vector>

#include "framework/distributed/signal_inbox.h"

namespace tenon::host {

struct ChildEnd {
  int exit_code = 0;   // where no signal ended it
  int signal = 0;      // that ended it; 0: none did
  std::string errors;  // the end of what it wrote to standard error
  int asked = 0;       // the signal by which this process was asked to stop meanwhile; 0: it was not
};

// Starts it with nothing to read, `settings` ("NAME=value") over the environment, and waits for its end; its output is
// dropped. `arguments`: with the program's name first. A request to stop is passed on, another one a second or more
// later ends it at once, and so does the end of this process. Throws Error(internal) where it cannot be started.
// REQUIRES: the caller is the main thread.
ChildEnd run_child(const std::vector<std::string>& arguments, const std::vector<std::string>& settings,
                   distributed::SignalInbox& signals);

}  // namespace tenon::host
