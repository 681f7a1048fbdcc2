#include "host/process/keep_memory.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

namespace {

constexpr size_t kBytes = size_t{256} << 20;  // glibc never keeps such a block by default

// Returns the page faults of writing to a new block.
long count_faults_of_block() {
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  const long before = faults();
  auto* const block = static_cast<volatile char*>(std::malloc(kBytes));
  for (size_t i = 0; i < kBytes; i += 4096) block[i] = 1;
  std::free(const_cast<char*>(block));
  return faults() - before;
}

}  // namespace

TEST_CASE("a freed block of memory is used again without page faults, unless the user has set malloc's options") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  MESSAGE("skipped: sanitizers replace malloc");
#else
  unsetenv("GLIBC_TUNABLES");
  for (const char* name : {"MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}) unsetenv(name);
  count_faults_of_block();
  const long from_the_kernel = count_faults_of_block();
  CHECK(from_the_kernel > 100);  // pages may be of 2 MiB

  setenv("MALLOC_TRIM_THRESHOLD_", "1000000", /*overwrite=*/1);
  tenon::host::keep_freed_memory();
  CHECK(count_faults_of_block() > 100);

  unsetenv("MALLOC_TRIM_THRESHOLD_");
  tenon::host::keep_freed_memory();
  count_faults_of_block();
  CHECK(count_faults_of_block() < 10);
#endif
}
