// The state of another process on this machine, as the kernel reports it.
#pragma once

#include <sys/types.h>

#include <string>

namespace tenon::distributed {

// Returns the state letter of /proc/PID/stat: 'R' running, 'S' sleeping, 'D' waiting for a disk, 'T' stopped by a
// signal, 't' stopped by a debugger, 'Z' ended. Returns 'Z' if there is no such process.
char read_process_state(pid_t pid);

// A stopped process does not run until it receives SIGCONT or its debugger continues it.
inline bool is_stopped(char state) { return state == 'T' || state == 't'; }
inline bool has_ended(char state) { return state == 'Z' || state == 'X'; }

// "it is stopped (state T), as by SIGSTOP"
std::string describe_process_state(char state);

}  // namespace tenon::distributed
