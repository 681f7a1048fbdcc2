#include "framework/profiling/latency.h"

#include "tests/doctest_with_torch.h"

using namespace tenon::profiling;

TEST_CASE("percentiles are measured times") {
  const Latency of_ten = summarize({10, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  CHECK(of_ten.median == 5);
  CHECK(of_ten.tenth == 1);
  CHECK(of_ten.ninetieth == 9);
  CHECK(of_ten.least == 1);
  const Latency of_one = summarize({3});
  CHECK(of_one.median == 3);
  CHECK(of_one.tenth == 3);
  CHECK(of_one.ninetieth == 3);
}

TEST_CASE("work runs for the warm-up and then for each timed repeat") {
  int runs = 0;
  const Latency latency = time_repeated(c10::Device(c10::kCPU), 3, 5, [&] { ++runs; });
  CHECK(runs == 8);
  CHECK(latency.least >= 0);
  CHECK(latency.least <= latency.ninetieth);
}
