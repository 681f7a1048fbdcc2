#include "host/process/keep_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <string_view>

namespace tenon::host {

namespace {

constexpr int kLargestKept = 1 << 30;
constexpr int kLargestKeptByOldGlibc = 32 << 20;  // its limit of M_MMAP_THRESHOLD
constexpr int kHeapGrowth = 32 << 20;

bool is_users_choice() {
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("MALLOC_") || text.starts_with("GLIBC_TUNABLES=")) return true;
  }
  return false;
}

}  // namespace

void keep_freed_memory() {
  if (is_users_choice()) return;
  // Larger blocks are mapped, and unmapped when they are freed.
  if (mallopt(M_MMAP_THRESHOLD, kLargestKept) == 0) mallopt(M_MMAP_THRESHOLD, kLargestKeptByOldGlibc);
  // This much free memory at the end of the heap is kept.
  mallopt(M_TRIM_THRESHOLD, kLargestKept);
  // The heap grows by at least this much, so that huge pages fit into what is new (pipeline/device/tensor_memory.h).
  mallopt(M_TOP_PAD, kHeapGrowth);
}

}  // namespace tenon::host
