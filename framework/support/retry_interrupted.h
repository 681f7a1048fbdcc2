// Repeats a system call that a signal interrupted.
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
