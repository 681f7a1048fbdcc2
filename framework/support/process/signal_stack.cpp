#include "framework/support/process/signal_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

namespace tenon::support {

namespace {

// AVX-512 and AMX registers make the frame of a signal larger than MINSIGSTKSZ.
constexpr size_t kSignalStackBytes = size_t{64} << 10;
// Without a guard page, an overflow of the signal stack would overwrite other memory.
constexpr size_t kGuardBytes = size_t{64} << 10;  // a multiple of every page size

// A function with large arrays may skip that much below the stack.
constexpr uintptr_t kSkippedBytes = uintptr_t{64} << 10;
constexpr uintptr_t kSkippedFrameBytes = uintptr_t{64} << 20;

// Plain values, which a signal handler may read.
struct StackLimit {
  uintptr_t lowest = 0;  // the lowest usable address; 0: unknown
  uintptr_t guard = 0;   // bytes below it that always fault
};
constinit thread_local StackLimit stack_limit;

}  // namespace

void record_stack_limit() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  size_t bytes = 0, guard = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0 && pthread_attr_getguardsize(&attributes, &guard) == 0)
    stack_limit = {reinterpret_cast<uintptr_t>(lowest), guard};
  pthread_attr_destroy(&attributes);
}

SignalStack::SignalStack() noexcept {
  record_stack_limit();
  stack_t present{};
  if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;
  void* const memory = mmap(nullptr, kGuardBytes + kSignalStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  mprotect(memory, kGuardBytes, PROT_NONE);
  stack_t alternative{};
  alternative.ss_sp = static_cast<char*>(memory) + kGuardBytes;
  alternative.ss_size = kSignalStackBytes;
  if (sigaltstack(&alternative, nullptr) == 0)
    memory_ = memory;
  else
    munmap(memory, kGuardBytes + kSignalStackBytes);
}

SignalStack::~SignalStack() {
  if (!memory_) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  if (sigaltstack(&none, nullptr) == 0) munmap(memory_, kGuardBytes + kSignalStackBytes);
}

bool is_stack_overflow(uintptr_t address, uintptr_t stack_pointer) noexcept {
  const auto [lowest, guard] = stack_limit;
  if (lowest == 0) return false;
  const auto is_below = [lowest = lowest, guard = guard](uintptr_t place, uintptr_t skipped) {
    // Older versions of the C library count the guard as a part of the stack.
    return place < lowest + guard && place + guard + skipped >= lowest;
  };
  // A frame with large arrays moves the stack pointer first and then writes anywhere in the frame.
  return is_below(address, kSkippedBytes) || (stack_pointer < lowest && is_below(stack_pointer, kSkippedFrameBytes));
}

}  // namespace tenon::support
