// Runs this program in a child process.
#pragma once

#include <string>
#include <vector>

#include "framework/distributed/launch/signal_inbox.h"

namespace tenon::host {

struct ChildEnd {
  int exit_code = 0;   // valid if no signal ended the child
  int signal = 0;      // signal that ended the child; 0: none
  std::string errors;  // the end of its standard error
  int requested = 0;   // signal that requested this process to stop in the meantime; 0: none
};

// Starts the child with empty standard input and waits for its end. Standard output is discarded. `arguments`: the
// program's name comes first. A stop request is forwarded to the child. A second request at least one second later
// kills the child, and so does the end of this process. Throws Error(system) if the child cannot be started. REQUIRES:
// the caller is the main thread.
ChildEnd run_child(const std::vector<std::string>& arguments, distributed::SignalInbox& signals);

}  // namespace tenon::host
