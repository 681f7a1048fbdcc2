#include "framework/support/process/before_exit.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace tenon::support {
namespace {

std::atomic<BeforeExit> before_exit = nullptr;

void call_before_exit(const char* name, const void* caller) {
  if (const auto function = before_exit.load()) function(name, caller);
}

// Calls the function of the C library.
[[noreturn]] void call_next(const char* name, int status) {
  reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, name))(status);
  std::abort();  // not reached
}

}  // namespace

void set_before_exit(BeforeExit function) noexcept { before_exit = function; }

void end_process(int status) noexcept {
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace tenon::support

// The libraries and plugins of the process call these functions, because their symbols are searched in the executable
// first.
extern "C" {

[[gnu::visibility("default")]] void exit(int status) noexcept {
  tenon::support::call_before_exit("exit", __builtin_return_address(0));
  tenon::support::call_next("exit", status);
}

[[gnu::visibility("default")]] void quick_exit(int status) noexcept {
  tenon::support::call_before_exit("quick_exit", __builtin_return_address(0));
  tenon::support::call_next("quick_exit", status);
}

[[gnu::visibility("default")]] void _exit(int status) {
  tenon::support::call_before_exit("_exit", __builtin_return_address(0));
  tenon::support::end_process(status);
}

[[gnu::visibility("default")]] void _Exit(int status) noexcept {
  tenon::support::call_before_exit("_Exit", __builtin_return_address(0));
  tenon::support::end_process(status);
}
}
