#include "framework/data/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "framework/support/diagnostics/error.h"

using tenon::config::parse_subset;
using tenon::config::Subset;
using namespace tenon::data;

namespace {

// Pearson's chi-squared statistic for counts that should all be equal.
double chi_square(const std::vector<int64_t>& counts) {
  double total = 0;
  for (const int64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const int64_t count : counts)
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  return sum / expected;
}

// Cuts the whole dataset at random percentages.
std::vector<Subset> random_parts(std::mt19937_64& random) {
  std::vector<int64_t> ends{Subset::kWhole};
  for (size_t cuts = random() % 6; cuts > 0; --cuts)
    ends.push_back(1 + static_cast<int64_t>(random() % static_cast<uint64_t>(Subset::kWhole - 1)));
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<Subset> parts;
  for (const int64_t end : ends) parts.push_back({parts.empty() ? 0 : parts.back().end, end});
  return parts;
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

// A run that is resumed with a later version must read the rest of its epoch in the same order.
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

TEST_CASE("an epoch beyond the range of the random stream is refused") {
  CHECK_THROWS_AS(shuffled_order(4, 0, -1), tenon::support::Error);
  CHECK_THROWS_AS(shuffled_order(4, 0, int64_t{1} << 32), tenon::support::Error);
}

TEST_CASE("adjacent subsets are disjoint and complete") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    const auto size = static_cast<int64_t>(random() % 300);
    const uint64_t seed = random();
    const std::vector<Subset> parts = random_parts(random);
    CAPTURE(size);
    CAPTURE(parts.size());
    std::vector<int64_t> all;
    for (const Subset& part : parts) {
      const std::vector<int64_t> samples = subset_samples(size, part, seed);
      CHECK(std::is_sorted(samples.begin(), samples.end()));
      const double share = static_cast<double>(size) * static_cast<double>(part.end - part.begin) / Subset::kWhole;
      CHECK(std::abs(static_cast<double>(samples.size()) - share) < 1);
      all.insert(all.end(), samples.begin(), samples.end());
    }
    std::sort(all.begin(), all.end());
    CHECK(all == sequential_order(size));
  }
}

TEST_CASE("a subset depends only on its seed") {
  const Subset half = *parse_subset("50%");
  CHECK(subset_samples(100, half, 1) == subset_samples(100, half, 1));
  CHECK(subset_samples(100, half, 1) != subset_samples(100, half, 2));
  CHECK(subset_samples(100, half, 1) != subset_samples(100, *parse_subset("50%-100%"), 1));
}

TEST_CASE("every sample is equally likely to be in a subset") {
  std::vector<int64_t> counts(20);
  for (uint64_t seed = 0; seed < 4000; ++seed)
    for (const int64_t index : subset_samples(20, *parse_subset("25%-50%"), seed)) ++counts[static_cast<size_t>(index)];
  CHECK(chi_square(counts) < 43.8);  // 19 degrees of freedom: exceeded with probability 0.001
}

// A run that is resumed with a later version must not train on its validation samples.
TEST_CASE("the samples of a subset do not change between versions") {
  CHECK(subset_samples(10, *parse_subset("30%"), 0) == std::vector<int64_t>{3, 7, 9});
}

TEST_CASE("by default a sampler returns the whole dataset in order") {
  const Sampler sampler(5, {});
  CHECK(sampler.size() == 5);
  CHECK(sampler.order(0) == sequential_order(5));
  CHECK(sampler.order(3) == sequential_order(5));
  CHECK(Sampler(0, {}).order(1).empty());
}

TEST_CASE("a shuffled epoch depends on its seed, not on earlier epochs") {
  const Sampler sampler(50, {.shuffle = true, .seed = 7});
  for (const int64_t epoch : {3, 1, 2, 1}) CHECK(sampler.order(epoch) == shuffled_order(50, 7, epoch));
}

TEST_CASE("a shuffled subset holds each of its samples once") {
  const Subset part = *parse_subset("10%-40%");
  const Sampler sampler(100, {.shuffle = true, .seed = 7, .subset = part, .subset_seed = 2});
  CHECK(sampler.size() == 30);
  std::vector<int64_t> order = sampler.order(1);
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  CHECK(order != sampler.order(2));
  std::sort(order.begin(), order.end());
  CHECK(order == subset_samples(100, part, 2));
  CHECK(Sampler(100, {.subset = part, .subset_seed = 2}).order(1) == order);
}

TEST_CASE("a limited epoch is the beginning of the whole one") {
  std::vector<int64_t> begin = shuffled_order(50, 7, 2);
  begin.resize(12);
  CHECK(Sampler(50, {.shuffle = true, .seed = 7, .most = 12}).order(2) == begin);
  CHECK(Sampler(50, {.most = 12}).size() == 12);
  CHECK(Sampler(50, {.most = 50}).size() == 50);
  CHECK(Sampler(50, {.most = 1000}).order(1) == sequential_order(50));
}

TEST_CASE("samples that are spread hold each part of the data equally, and none twice") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    const auto size = static_cast<int64_t>(1 + random() % 500);
    const auto most = static_cast<int64_t>(1 + random() % static_cast<uint64_t>(size));
    CAPTURE(size);
    CAPTURE(most);
    const std::vector<int64_t> places = spread_places(size, most);
    REQUIRE(static_cast<int64_t>(places.size()) == most);
    for (int64_t k = 0; k < most; ++k) {
      REQUIRE(places[static_cast<size_t>(k)] >= k * size / most);
      REQUIRE(places[static_cast<size_t>(k)] < (k + 1) * size / most);
    }
  }
  CHECK(spread_places(7, 7) == sequential_order(7));
  CHECK(spread_places(0, 0).empty());
  const std::vector<int64_t> large = spread_places(int64_t{1} << 62, 3);
  CHECK(large.front() == 0);
  CHECK(large.back() > (int64_t{1} << 62) / 3 * 2);
}

// Not each 10th sample: those would all be of one class.
TEST_CASE("samples that are spread hold each class if the classes alternate") {
  for (const int64_t classes : {2, 3, 10}) {
    std::vector<int64_t> counts(static_cast<size_t>(classes));
    for (const int64_t place : spread_places(100 * classes, 100)) ++counts[static_cast<size_t>(place % classes)];
    CHECK(*std::ranges::min_element(counts) >= 100 / classes - 2);
  }
}

TEST_CASE("a limited epoch with samples that are spread covers data in the order of their classes") {
  // Ten classes of 100 samples.
  const Sampler sampler(1000, {.spreads_limit = true, .most = 40});
  CHECK(sampler.size() == 40);
  std::map<int64_t, int64_t> counts;
  for (const int64_t sample : sampler.order(0)) ++counts[sample / 100];
  CHECK(counts.size() == 10);
  for (const auto& [one, count] : counts) CHECK(count == 4);
  CHECK(sampler.order(1) == sampler.order(0));
  CHECK(Sampler(1000, {.spreads_limit = true, .most = 2000}).order(0) == sequential_order(1000));
  CHECK(Sampler(1000, {.spreads_limit = true}).order(0) == sequential_order(1000));

  const Subset part = *parse_subset("10%-40%");
  const std::vector<int64_t> available = subset_samples(1000, part, 2);
  std::vector<int64_t> expected;
  for (const int64_t place : spread_places(300, 7)) expected.push_back(available[static_cast<size_t>(place)]);
  CHECK(Sampler(1000, {.subset = part, .subset_seed = 2, .spreads_limit = true, .most = 7}).order(0) == expected);
}

TEST_CASE("ranks that share a limited epoch read its samples once each") {
  for (const int64_t world : {2, 3, 5}) {
    const std::vector<int64_t> alone = Sampler(1000, {.spreads_limit = true, .most = 4 * world}).order(0);
    std::vector<int64_t> together;
    for (int64_t rank = 0; rank < world; ++rank) {
      const Sampler sampler(1000, {.spreads_limit = true, .most = 4 * world, .rank = rank, .world = world});
      const std::vector<int64_t> order = sampler.order(0);
      CHECK(order.size() == 4);
      together.insert(together.end(), order.begin(), order.end());
    }
    std::ranges::sort(together);
    CHECK(together == alone);
  }
}

// A validation of a later version must be comparable with one of an earlier version.
TEST_CASE("the samples of a limited epoch do not change between versions") {
  CHECK(spread_places(100, 5) == std::vector<int64_t>{0, 32, 44, 77, 89});
}

TEST_CASE("a sampler without samples is valid, a rank outside the world is refused") {
  CHECK(Sampler(3, {.subset = *parse_subset("10%")}).size() == 0);
  CHECK(Sampler(3, {.subset = *parse_subset("10%")}).order(1).empty());
  CHECK_THROWS_AS(Sampler(3, {.rank = 2, .world = 2}), tenon::support::Error);
  CHECK_THROWS_AS(Sampler(3, {.rank = -1}), tenon::support::Error);
  CHECK_THROWS_AS(Sampler(3, {.world = 0}), tenon::support::Error);
}

TEST_CASE("drop_last leaves out the remainder of a batch, on every rank") {
  for (const int64_t size : {64, 63, 97, 8})
    for (const int64_t world : {1, 2, 4}) {
      CAPTURE(size);
      CAPTURE(world);
      std::vector<int64_t> all;
      int64_t total = 0;
      for (int64_t rank = 0; rank < world; ++rank) {
        const Sampler sampler(
            size, {.shuffle = true, .seed = 3, .batch_size = 8, .drop_last = true, .rank = rank, .world = world});
        total = sampler.size();
        const std::vector<int64_t> order = sampler.order(2);
        CHECK(static_cast<int64_t>(order.size()) == size / (8 * world) * 8);  // len of torch's BatchSampler, times 8
        all.insert(all.end(), order.begin(), order.end());
        CHECK(sampler.available() == size);
      }
      CHECK(total == static_cast<int64_t>(all.size()));
      std::vector<int64_t> expected = shuffled_order(size, 3, 2);
      expected.resize(all.size());
      std::sort(expected.begin(), expected.end());
      std::sort(all.begin(), all.end());
      CHECK(all == expected);
    }
  // The samples of a limited epoch are whole batches, unless there are fewer.
  CHECK(Sampler(20, {.batch_size = 8, .most = 16, .drop_last = true}).size() == 16);
  CHECK(Sampler(20, {.batch_size = 8, .most = 24, .drop_last = true}).size() == 16);
  CHECK(Sampler(7, {.batch_size = 8, .drop_last = true}).size() == 0);
}
