#include "host/program/process_start.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "framework/support/diagnostics/sanitizers.h"
#include "host/program/exit_codes.h"

namespace tenon::program {

namespace {

constexpr int kLargestKept = 1 << 30;
constexpr int kLargestKeptByOldGlibc = 32 << 20;  // its limit of M_MMAP_THRESHOLD
constexpr int kGrowth = 32 << 20;
constexpr size_t kFirstBlock = size_t{31} << 20;  // less than kLargestKeptByOldGlibc

bool has_settings_of_malloc(char** environment) {
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

// User settings that the host does not override, in order of precedence.
constexpr const char* kUserSettings[] = {"GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY", "OMP_WAIT_POLICY"};

// libiomp5 and libomp understand only the first one. libgomp's threads spin for up to half a millisecond before they
// sleep, and on a busy machine not at all: see pipeline::limit_spinning().
constexpr std::pair<const char*, const char*> kHostSettings[] = {{"OMP_WAIT_POLICY", "passive"},
                                                                 {"GOMP_SPINCOUNT", "10000"}};

// Most of LibTorch's constructors that throw lack memory or a thread.
[[noreturn]] void report_exception() {
  std::string text = "an exception of unknown type";
  try {
    if (const std::exception_ptr escaped = std::current_exception()) std::rethrow_exception(escaped);
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
  }
  std::fprintf(stderr,
               "error: a library could not be initialised: %s; if ulimit limits the process, raise the limits of its "
               "address space (ulimit -v) and of processes (ulimit -u)\n",
               text.substr(0, text.find('\n')).c_str());
  _exit(kSystemFailed);
}

}  // namespace

bool is_memory_limited() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  }
  return false;
}

void set_up_heap(char** environment) {
  if (support::kIsSanitized || has_settings_of_malloc(environment)) return;
  // Larger blocks are mapped, and unmapped when they are freed.
  if (mallopt(M_MMAP_THRESHOLD, kLargestKept) == 0) mallopt(M_MMAP_THRESHOLD, kLargestKeptByOldGlibc);
  // This much free memory at the end of the heap is kept.
  mallopt(M_TRIM_THRESHOLD, kLargestKept);
  if (is_memory_limited()) return;
  // The heap grows by at least this much, so that huge pages fit into what is new (pipeline/device/tensor_memory.h).
  mallopt(M_TOP_PAD, kGrowth);
  grow_heap();
}

WaitPolicy::WaitPolicy() {
  for (const char* name : kUserSettings) {
    const char* const value = std::getenv(name);
    if (!value) continue;
    if (!std::exchange(is_users_choice_, true)) description_ = "OpenMP wait policy from the environment:";
    description_ += std::string(" ") + name + "=" + value;
  }
  if (is_users_choice_) return;
  description_ = "OpenMP wait policy from the host:";
  for (const auto& [name, value] : kHostSettings) {
    setenv(name, value, 1);
    description_ += std::string(" ") + name + "=" + value;
  }
}

WaitPolicy::~WaitPolicy() {
  if (is_users_choice_) return;
  // libiomp5 and libomp read the environment at the first call.
  using GetMaxThreads = int (*)();
  if (const auto get_max_threads = reinterpret_cast<GetMaxThreads>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")))
    get_max_threads();
  for (const auto& [name, value] : kHostSettings) unsetenv(name);
}

void report_exceptions_of_libraries() { std::set_terminate(report_exception); }

}  // namespace tenon::program
