#include "host/process/library_destructors.h"

#include <stdlib.h>

#include <cstdio>

#include "framework/support/diagnostics/sanitizers.h"
#include "framework/support/process/before_exit.h"

namespace tenon::host {

void skip_library_destructors() {
  if (support::kIsSanitized || getenv("LD_PRELOAD") || getenv("CUDA_INJECTION64_PATH")) return;
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
