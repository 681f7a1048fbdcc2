// The signals of crashes, and stack overflows: a thread needs a second stack for the signal handler that reports one.
#pragma once

#include <csignal>
#include <cstdint>

namespace tenon::support {

// Returns "SIGSEGV (invalid memory access)". Null for a signal that is not of a crash. [signal handler]
constexpr const char* describe_crash_signal(int signal) noexcept {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV (invalid memory access)";
    case SIGBUS: return "SIGBUS (invalid memory access)";
    case SIGABRT: return "SIGABRT (abort)";
    case SIGFPE: return "SIGFPE (arithmetic error)";
    case SIGILL: return "SIGILL (illegal instruction)";
    default: return nullptr;
  }
}

// Gives the calling thread an alternative stack for signal handlers (SA_ONSTACK) and records where its normal stack
// ends. A thread that has such a stack already, such as from AddressSanitizer, keeps it. Without memory for it the
// thread has none, and a stack overflow ends the process without a message.
class SignalStack {
 public:
  SignalStack() noexcept;
  ~SignalStack();  // [the same thread]
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void* memory_ = nullptr;
};

// Records where the stack of the calling thread ends. SignalStack does that itself.
void record_stack_limit() noexcept;

// Whether an invalid memory access of this thread is a stack overflow: the address or the stack pointer lies just below
// the stack. False if the end of the stack is unknown. [signal handler]
bool is_stack_overflow(uintptr_t address, uintptr_t stack_pointer) noexcept;

}  // namespace tenon::support
