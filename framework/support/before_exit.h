// A function that exit() of the C library calls before anything else.
#pragma once

namespace tenon::support {

// Wherever exit() is called in the process, `function` is called first, on the same thread. Functions given to atexit()
// run later: after the destructors of all static objects that were made since, which other threads may still use. A
// return from main() does not call it. nullptr: no function.
void set_before_exit(void (*function)()) noexcept;

}  // namespace tenon::support
