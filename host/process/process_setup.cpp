#include "host/process/process_setup.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/diagnostics/sanitizers.h"
#include "framework/support/files/file_descriptor.h"
#include "framework/support/process/before_exit.h"

namespace tenon::host {

namespace {

constexpr int kLargestKept = 1 << 30;
constexpr int kLargestKeptByOldGlibc = 32 << 20;  // its limit of M_MMAP_THRESHOLD
constexpr int kGrowth = 32 << 20;
constexpr size_t kFirstBlock = size_t{31} << 20;  // less than kLargestKeptByOldGlibc

// Whether `ulimit -v` or `ulimit -d` limits memory. It is then scarce, and some constructors of libraries crash if they
// get none.
bool is_limited() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  }
  return false;
}

bool is_users_choice(char** environment) {
  for (char** variable = environment; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("MALLOC_") || text.starts_with("GLIBC_TUNABLES=")) return true;
  }
  return false;
}

void* heap_end() { return sbrk(0); }

// A huge page is only made of memory that was not used before. Ignores errors: the memory is the same without.
void grow_heap() {
  void* const begin = heap_end();
  void* volatile block = std::malloc(kFirstBlock);  // volatile: otherwise the compiler may omit both calls
  std::free(block);
  const auto grown = static_cast<char*>(heap_end()) - static_cast<char*>(begin);
  if (grown > 0) madvise(begin, static_cast<size_t>(grown), MADV_HUGEPAGE);
}

}  // namespace

void set_up_heap(int, char**, char** environment) {
  if (support::kIsSanitized || is_users_choice(environment)) return;
  // Larger blocks are mapped, and unmapped when they are freed.
  if (mallopt(M_MMAP_THRESHOLD, kLargestKept) == 0) mallopt(M_MMAP_THRESHOLD, kLargestKeptByOldGlibc);
  // This much free memory at the end of the heap is kept.
  mallopt(M_TRIM_THRESHOLD, kLargestKept);
  if (is_limited()) return;
  // The heap grows by at least this much, so that huge pages fit into what is new (pipeline/device/tensor_memory.h).
  mallopt(M_TOP_PAD, kGrowth);
  grow_heap();
}

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

bool open_standard_streams() {
  bool was_closed = false;
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    was_closed = true;
    // open() returns the lowest free descriptor, which is this one.
    static_cast<void>(support::retry_interrupted([] { return open("/dev/null", O_RDWR); }));
  }
  return was_closed;
}

void restore_standard_streams() {
  if (open_standard_streams())
    support::log_warning(
        "a plugin closed a standard stream (descriptor 0, 1 or 2); what the host reads from or writes to it is lost: "
        "find the plugin with host validate --check keeps-descriptors, and let it close only what it opened");
}

void flush_standard_output() {
  errno = 0;
  const bool has_failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!has_failed) return;
  const std::string reason = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  throw support::Error(support::ErrorKind::system, "standard output: cannot be written completely" + reason +
                                                       "; free some space, or redirect the output to another disk");
}

}  // namespace tenon::host
