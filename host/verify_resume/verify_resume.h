// `host verify-resume`: verifies that a run that is killed and resumed ends with the same bits as an uninterrupted run.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Runs a shortened version of the run file (shortened_run.h) in child processes, once uninterrupted and once killed and
// resumed. Prints the result. Returns 0 if both ended with the same bits, and kRunsDiffer otherwise. Removes the files
// of the runs unless they differ. Throws Error as open_run() does. If a run fails by itself, its standard error is
// printed and the Error has its exit code.
int verify_resume(const CommandLine& line);

inline constexpr int kRunsDiffer = 9;  // exit code

}  // namespace tenon::host
