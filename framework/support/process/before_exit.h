// A function that runs before the functions of the C library that end the process.
#pragma once

namespace tenon::support {

// `name` is what was called: "exit", "_exit", "_Exit" or "quick_exit". `caller` is an address in the code that called
// it.
using BeforeExit = void (*)(const char* name, const void* caller);

// Wherever one of these is called in the process, `function` is called first, on the same thread. Functions given to
// atexit() run later, and only for exit(): after the destructors of all static objects that were made since, which
// other threads may still use. A return from main() does not call it. nullptr: no function. A process that was forked
// has the same function, and may be one that has to call _exit(). What `function` uses must be safe in a signal
// handler. The program `host` and its engine both contain this function; the loader takes that of the program.
[[gnu::visibility("default")]] void set_before_exit(BeforeExit function) noexcept;

// Ends the process like _exit(), without the function above. Safe in a signal handler.
[[noreturn]] void end_process(int status) noexcept;

}  // namespace tenon::support
