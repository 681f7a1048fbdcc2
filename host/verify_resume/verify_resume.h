// `host verify-resume`: whether a run that is killed and gone on with ends with the bits that it would have had.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Runs the run file in short (shortened_run.h) in processes of their own, once without interruption and once killed and
// resumed; prints, and returns 0 if both ended with the same bits and kRunsDiffer otherwise. What the runs wrote is
// removed, unless they differ. Throws Error as open_run() does; where a run fails by itself, with its exit code, after
// its standard error was passed on.
int verify_resume(const CommandLine& line);

inline constexpr int kRunsDiffer = 9;  // exit code

}  // namespace tenon::host
