#include "framework/data/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "framework/support/error.h"

using tenon::data::sequential_order;
using tenon::data::shuffled_order;

namespace {

// Pearson's statistic of counts that should all be equal.
double chi_square(const std::vector<int64_t>& counts) {
  double total = 0;
  for (const int64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const int64_t count : counts)
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  return sum / expected;
}

}  // namespace

TEST_CASE("a sequential order counts up") {
  CHECK(sequential_order(0).empty());
  CHECK(sequential_order(3) == std::vector<int64_t>{0, 1, 2});
}

TEST_CASE("a shuffled order holds each sample once") {
  for (const int64_t size : {0, 1, 2, 3, 10, 1797, 100000}) {
    std::vector<int64_t> order = shuffled_order(size, 7, 1);
    if (size >= 10) CHECK(order != sequential_order(size));
    std::sort(order.begin(), order.end());
    CHECK(order == sequential_order(size));
  }
}

TEST_CASE("a shuffled order is a function of seed and epoch") {
  CHECK(shuffled_order(100, 7, 1) == shuffled_order(100, 7, 1));
  CHECK(shuffled_order(100, 7, 1) != shuffled_order(100, 7, 2));
  CHECK(shuffled_order(100, 7, 1) != shuffled_order(100, 8, 1));
  // Only the lower half of the seed, or only the upper half, differs.
  CHECK(shuffled_order(100, uint64_t{7} << 32, 1) != shuffled_order(100, 7, 1));
}

// A run that is resumed by a later version must see the rest of its epoch in the order in which it began.
TEST_CASE("the order of a seed and epoch does not change between versions") {
  CHECK(shuffled_order(10, 0, 1) == std::vector<int64_t>{1, 7, 3, 6, 4, 9, 0, 8, 2, 5});
}

TEST_CASE("every permutation of four is equally likely") {
  std::map<std::vector<int64_t>, int64_t> seen;
  for (uint64_t seed = 0; seed < 2400; ++seed) {
    for (int64_t epoch = 1; epoch <= 10; ++epoch) ++seen[shuffled_order(4, seed, epoch)];
  }
  REQUIRE(seen.size() == 24);
  std::vector<int64_t> counts;
  for (const auto& [order, count] : seen) counts.push_back(count);
  CHECK(chi_square(counts) < 49.7);  // 23 degrees of freedom: exceeded with probability 0.001
}

TEST_CASE("every sample is equally likely at every place") {
  constexpr int64_t kSize = 7;
  std::vector<int64_t> counts(kSize * kSize);
  for (uint64_t seed = 0; seed < 7000; ++seed) {
    const std::vector<int64_t> order = shuffled_order(kSize, seed, 3);
    for (int64_t place = 0; place < kSize; ++place) ++counts[static_cast<size_t>(place * kSize + order[place])];
  }
  CHECK(chi_square(counts) < 68.0);  // 36 degrees of freedom: exceeded with probability 0.001
}

TEST_CASE("an epoch that the random stream has no room for is refused") {
  CHECK_THROWS_AS(shuffled_order(4, 0, -1), tenon::support::Error);
  CHECK_THROWS_AS(shuffled_order(4, 0, int64_t{1} << 32), tenon::support::Error);
}
