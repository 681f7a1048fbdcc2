#include "framework/support/before_exit.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

namespace tenon::support {
namespace {

std::atomic<void (*)()> before_exit = nullptr;

}  // namespace

void set_before_exit(void (*function)()) noexcept { before_exit = function; }

}  // namespace tenon::support

// The libraries and plugins of the process call this function, because their symbols are searched in the executable
// first.
extern "C" [[gnu::visibility("default")]] void exit(int status) noexcept {
  if (const auto function = tenon::support::before_exit.load()) function();
  reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit"))(status);
  std::abort();  // not reached
}
