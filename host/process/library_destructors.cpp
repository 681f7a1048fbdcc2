#include "host/process/library_destructors.h"

#include <stdlib.h>

#include <cstdio>

#include "framework/support/before_exit.h"

namespace tenon::host {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

}  // namespace

void skip_library_destructors() {
  if (kIsSanitized || getenv("LD_PRELOAD") || getenv("CUDA_INJECTION64_PATH")) return;
  // Handlers run in reverse order: those of plugins before this one, and those of libraries, which were registered
  // before main(), would run after it.
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        support::end_process(status);
      },
      nullptr);
}

}  // namespace tenon::host
