// Signals: a request to stop is noted and ends the run in good order; a crash says whose code was running.
#pragma once

#include <atomic>

namespace tenon::host {

// From here on SIGINT, SIGTERM and SIGHUP set the number below; another one a second later or more ends the process at
// once. SIGPIPE and SIGXFSZ are ignored.
void catch_stop_signals();
const std::atomic<int>& stop_signal();  // 0: none arrived

// From here on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT print the plugin, component and function that this thread
// was in, before the process ends by that very signal.
void report_crashes();

}  // namespace tenon::host
