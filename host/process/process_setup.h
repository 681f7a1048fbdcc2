// Sets up the process after LibTorch was loaded: its standard streams, which destructors run at its end, and the
// reports of crashes and of exceptions that no code catches. program/process_start.h does what comes before.
#pragma once

#include <string>

namespace tenon::host {

// After this call, exit() and the return from main() end the process before the destructors of the libraries that the
// engine is linked with: those of LibTorch take 0.1 s, and only free memory that the system takes back anyway. The
// static objects of plugins are destroyed, and functions given to atexit() from now on are called, as always; functions
// with the attribute `destructor` are not. Call it first. Does nothing if LD_PRELOAD or CUDA_INJECTION64_PATH is set,
// or with a sanitizer, because such tools write their results in destructors.
void skip_library_destructors();

// Opens /dev/null on the standard streams that are closed. Called after plugins: logs a warning if one of them closed a
// stream.
void restore_standard_streams();

// Writes what is buffered for standard output. Throws Error(system) if any output of the process could not be written,
// such as to a full disk.
void flush_standard_output();

// One log line with the wait policy that the OpenMP library read when it was loaded, and where it was set. The program
// sets it (program/process_start.h).
void set_wait_policy_description(std::string text);
const std::string& wait_policy_description();

// After this call an exception that no code catches prints its message: one on a thread that a plugin started, in a
// function that must not throw. If the machine refused memory or a thread, the process then ends with the exit code of
// that failure. Otherwise it ends with SIGABRT, so that the crash report names the plugin.
void report_uncaught_exceptions();

// Whether the message of an exception that no code catches has been printed. [signal handler]
bool is_uncaught_exception_reported() noexcept;

// After this call SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT print the plugin, component and function of their thread,
// and the likely cause where it is known. Then the signal ends the process. exit() in a plugin ends the process with
// exit code 3, and exit() in the OpenMP library with 11.
void report_crashes();

}  // namespace tenon::host
