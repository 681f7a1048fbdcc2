// Checks that the system allows LibTorch its threads.
#pragma once

#include <cstdint>

namespace tenon::pipeline {

// Throws Error(system) if this process cannot start `count` more threads. LibTorch's thread pool ignores the error of a
// thread that does not start, and waits for that thread forever.
void require_threads(int64_t count);

}  // namespace tenon::pipeline
