#include "framework/config/usable_cores.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <fstream>
#include <string>

namespace tenon::config {
namespace {

int64_t limit_of(const std::string& text) {
  const auto file = std::filesystem::path(TENON_TEST_DIR) / "cpu.max";
  std::ofstream(file) << text;
  return read_core_limit(file);
}

}  // namespace

TEST_CASE("a share of time counts as so many cores, rounded up") {
  CHECK(limit_of("200000 100000\n") == 2);
  CHECK(limit_of("150000 100000\n") == 2);
  CHECK(limit_of("1000 100000\n") == 1);
}

TEST_CASE("no share of time, and what cannot be read, is no limit") {
  CHECK(limit_of("max 100000\n") == 0);
  CHECK(limit_of("") == 0);
  CHECK(limit_of("100000\n") == 0);
  CHECK(limit_of("100000 0\n") == 0);
  CHECK(read_core_limit("no/such/file") == 0);
}

TEST_CASE("a process that may run on one core has one") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(count_usable_cores() >= 1);
  CHECK(count_usable_cores() <= CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(count_usable_cores() == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

}  // namespace tenon::config
