// Sets up the process: its heap, its standard streams, its OpenMP threads, which destructors run at its end, and the
// reports of crashes and of exceptions that no code catches.
#pragma once

#include <string>

namespace tenon::host {

// Makes allocations cheap from the first one on:
//
// - The heap begins with 63 MiB, and the kernel is requested to use huge pages for them. The constructors of LibTorch
//   allocate 55 MiB in small blocks, which are 14,000 pages of 4 KiB.
// - Memory that is freed stays in the process, blocks of up to 1 GiB. By default glibc returns large blocks to the
//   kernel. Each training step frees and allocates the same large tensors, and would get empty pages, which the kernel
//   fills with zeros one by one.
//
// Within a limit of memory (ulimit -v, ulimit -d) the heap begins as usual.
//
// A function for .preinit_array, which runs before the constructors of all libraries. Does nothing if `environment` has
// settings of malloc (MALLOC_*, GLIBC_TUNABLES), or with a sanitizer. Has no effect on the allocator of another
// library.
void set_up_heap(int argc, char** argv, char** environment);

// After this call, exit() and the return from main() end the process before the destructors of the libraries that the
// host is linked with: those of LibTorch take 0.1 s, and only free memory that the system takes back anyway. The static
// objects of plugins are destroyed, and functions given to atexit() from now on are called, as always; functions with
// the attribute `destructor` are not. For the start of main(). Does nothing if LD_PRELOAD or CUDA_INJECTION64_PATH is
// set, or with a sanitizer, because such tools write their results in destructors.
void skip_library_destructors();

// Opens /dev/null on each of the descriptors 0 to 2 that is closed, and returns whether one was closed. Otherwise the
// next file that the host opens would get the descriptor, and the terminal output would be written into that file. Call
// it first in main().
bool open_standard_streams();

// Does the same after plugins were called, and logs a warning if one of them closed a standard stream.
void restore_standard_streams();

// Writes what is buffered for standard output. Throws Error(system) if any output of the process could not be written,
// such as to a full disk.
void flush_standard_output();

// Returns one log line with the wait policy that the OpenMP library read at the start, and where it was set.
std::string describe_wait_policy();

// After this call an exception that no code catches prints its message: one on a thread that a plugin started, in a
// function that must not throw, or before main(). If the machine refused memory or a thread, the process then
// ends with the exit code of that failure. Otherwise it ends with SIGABRT, so that the crash report names the plugin.
// The host does this before the initialisers of all libraries, and again in main(), because a library may replace the
// handler.
void report_uncaught_exceptions();

// Whether the message of an exception that no code catches has been printed. [signal handler]
bool is_uncaught_exception_reported() noexcept;

// After this call SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT print the plugin, component and function of their thread,
// and the likely cause where it is known. Then the signal ends the process. exit() in a plugin ends the process with
// exit code 3, and exit() in the OpenMP library with 11.
void report_crashes();

}  // namespace tenon::host
