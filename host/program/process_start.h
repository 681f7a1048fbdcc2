// What must be set before LibTorch is loaded: its libraries allocate memory, start threads and read the environment in
// their constructors.
#pragma once

#include <string>

namespace tenon::program {

// Whether `ulimit -v` or `ulimit -d` limits memory. It is then scarce, and some constructors of libraries crash if they
// get none.
bool is_memory_limited();

// Makes allocations cheap from the first one on:
//
// - The heap begins with 63 MiB, and the kernel is requested to use huge pages for them. The constructors of LibTorch
//   allocate 55 MiB in small blocks, which are 14,000 pages of 4 KiB.
// - Memory that is freed stays in the process, blocks of up to 1 GiB. By default glibc returns large blocks to the
//   kernel. Each training step frees and allocates the same large tensors, and would get empty pages, which the kernel
//   fills with zeros one by one.
//
// Within a limit of memory the heap begins as usual. Does nothing if `environment` has settings
// of malloc (MALLOC_*, GLIBC_TUNABLES), or with a sanitizer. Has no effect on the allocator of another library.
void set_up_heap(char** environment);

// libgomp, the OpenMP library of LibTorch's wheels, reads the environment once, in a constructor. By default its
// threads spin at each barrier for milliseconds, and on a busy machine for a thread that the kernel has not scheduled
// (docs/decisions/0019-waiting-policy.md). While an object of this class exists, the environment has the settings of
// the host, unless it has one of the user. Ranks, plugins and their subprocesses see the environment of the user.
class WaitPolicy {
 public:
  WaitPolicy();
  ~WaitPolicy();
  WaitPolicy(const WaitPolicy&) = delete;
  WaitPolicy& operator=(const WaitPolicy&) = delete;

  // One log line with the settings and where they come from.
  const std::string& description() const { return description_; }

 private:
  bool is_users_choice_ = false;
  std::string description_;
};

// After this call an exception that no code catches, such as one in a constructor of a library, prints its message.
void report_exceptions_of_libraries();

}  // namespace tenon::program
