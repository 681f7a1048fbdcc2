// Reports exceptions that no code catches: on a thread that a plugin started, in a function that must not throw, or
// before main().
#pragma once

namespace tenon::host {

// After this call such an exception prints its message. If the machine refused memory or a thread, the process then
// ends with the exit code of that failure. Otherwise it ends with SIGABRT, so that the crash report names the plugin.
// The host does this before the initialisers of all libraries, and again in main(), because a library may replace the
// handler.
void report_uncaught_exceptions();

// Whether the message of such an exception has been printed. [signal handler]
bool is_uncaught_exception_reported() noexcept;

}  // namespace tenon::host
