#include "host/program/process_start.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "framework/support/diagnostics/sanitizers.h"

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

uintptr_t heap_end() { return reinterpret_cast<uintptr_t>(sbrk(0)); }

// Whether huge pages are requested at this address. Reads the flags of its mapping in /proc/self/smaps ("hg").
bool prefers_huge_pages(uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') is_inside = begin <= address && address < end;
    if (is_inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

void set_up_heap(std::vector<std::string> variables) {
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  tenon::program::set_up_heap(environment.data());
}

}  // namespace

TEST_CASE("the heap has room and huge pages, and keeps freed blocks, unless the user has set malloc's options") {
#if TENON_IS_SANITIZED
  MESSAGE("skipped: sanitizers replace malloc");
#else
  count_faults_of_block();
  const long from_the_kernel = count_faults_of_block();
  CHECK(from_the_kernel > 100);  // pages may be of 2 MiB

  uintptr_t before = heap_end();
  set_up_heap({"PATH=/bin", "MALLOC_TRIM_THRESHOLD_=1000000"});
  set_up_heap({"GLIBC_TUNABLES="});
  CHECK(heap_end() == before);
  CHECK(count_faults_of_block() > 100);

  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_DATA, &limit) == 0);
  const rlimit unlimited = limit;
  limit.rlim_cur = rlim_t{1} << 40;
  REQUIRE(setrlimit(RLIMIT_DATA, &limit) == 0);
  set_up_heap({"PATH=/bin"});
  CHECK(heap_end() == before);
  REQUIRE(setrlimit(RLIMIT_DATA, &unlimited) == 0);

  before = heap_end();
  set_up_heap({"PATH=/bin"});
  CHECK(heap_end() - before >= size_t{32} << 20);
  const bool prefers = prefers_huge_pages(before);
  CHECK(prefers == (madvise(reinterpret_cast<void*>(before), 4096, MADV_HUGEPAGE) == 0));  // fails without huge pages
  count_faults_of_block();
  CHECK(count_faults_of_block() < 10);
#endif
}
