// Repeats a system call that a signal interrupted. The number of repetitions has no limit, because each one needs
// another signal that arrives during the call. Calls that may wait without an end, such as flock(2) for a lock, are not
// repeated this way: they are made without waiting, between checks for a stop signal.
#pragma once

#include <cerrno>

namespace tenon::support {

// Returns the result of the last call. Example: `retry_interrupted([&] { return ::rename(from, to); })`.
template <class Call>
auto retry_interrupted(const Call& call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace tenon::support
