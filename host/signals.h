// Signals: a request to stop or to save is noted and obeyed in good order; a crash says whose code was running.
#pragma once

#include <atomic>
#include <string>

namespace tenon::host {

// From here on SIGINT, SIGTERM and SIGHUP set the number below; another one a second later or more ends the process at
// once. SIGPIPE and SIGXFSZ are ignored.
void catch_stop_signals();
const std::atomic<int>& stop_signal();  // 0: none arrived

// From here on SIGUSR1, which would end the process, sets the flag below.
void catch_save_signal();
std::atomic<bool>& save_signal();

// What the main thread is doing, "in plugins/x.so, model x, function forward, step 3": for messages about a process
// that does not come. [any thread but the main one]
std::string describe_main_thread();

// From here on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT print the plugin, component and function that this thread
// was in, before the process ends by that very signal.
void report_crashes();

}  // namespace tenon::host
