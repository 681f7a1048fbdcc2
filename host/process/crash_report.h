// Reports crashes: which function of which plugin was running, and the likely cause where it is known.
#pragma once

namespace tenon::host {

// After this call SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT print the plugin, component and function of their thread.
// Then the signal ends the process. exit() in a plugin ends the process with exit code 3, and
// exit() in the OpenMP library with 11.
void report_crashes();

}  // namespace tenon::host
