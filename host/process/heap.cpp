#include "host/process/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "framework/support/diagnostics/sanitizers.h"

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

}  // namespace tenon::host
