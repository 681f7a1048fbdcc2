// Reports calls of plugins that do not return.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tenon::host {

inline constexpr std::chrono::seconds kFirstCallReport{30};

// Starts a thread, unless it runs already. It reports a call that has not returned for `first_report`, and again each
// time this time has doubled. It also reports what the process waits for after a stop signal. The thread runs until the
// process ends. Do not call it in a process that forks to run plugins, as `host validate` does. Only tests give another
// `first_report`.
void start_call_reports(std::chrono::milliseconds first_report = kFirstCallReport);

// After this call there is no report of the stop signal: the run that it stopped has ended.
void report_end_of_stopped_run();

// From now on the reports concern exit(): destructors of static objects, and functions of plugins that atexit() calls.
void report_hanging_exit();

// The ranks other than 0 report calls, but not that they end after a stop signal.
void report_calls_of_rank(int64_t rank);

// Describes the call that this process is in: `in dataset "digits" of plugin digits 0.1.0, function get, train sample
// 3`. Prefers the main thread's call. [any thread]
std::string describe_running_call();

// Describes the longest call in the same way if it has lasted longer, or returns an empty text. [any thread]
std::string find_overdue_call(std::chrono::milliseconds longer_than, bool includes_main_thread);

}  // namespace tenon::host
