// Stack overflows: a thread needs a second stack for the signal handler that reports one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::support {

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
