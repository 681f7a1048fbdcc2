// Samplers that use the weights and lengths of samples.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "framework/data/sampler.h"

using namespace tenon::data;
using tenon::config::SamplerKind;

namespace {

// Unsorted lengths from 1 to 500.
std::vector<int64_t> make_lengths(int64_t size) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < size; ++i) lengths.push_back(1 + i * 7919 % 500);
  return lengths;
}

// The padding of all samples of a pass, if each batch is padded to its longest sample.
int64_t count_padding(const std::vector<int64_t>& order, const std::vector<int64_t>& lengths, int64_t batch_size) {
  int64_t padding = 0;
  for (size_t begin = 0; begin < order.size(); begin += static_cast<size_t>(batch_size)) {
    const size_t end = std::min(order.size(), begin + static_cast<size_t>(batch_size));
    int64_t longest = 0;
    for (size_t i = begin; i < end; ++i) longest = std::max(longest, lengths[static_cast<size_t>(order[i])]);
    for (size_t i = begin; i < end; ++i) padding += longest - lengths[static_cast<size_t>(order[i])];
  }
  return padding;
}

std::vector<int64_t> sorted(std::vector<int64_t> order) {
  std::ranges::sort(order);
  return order;
}

SamplerOptions bucketed(int64_t batch_size) {
  return {.kind = SamplerKind::length_bucketed, .shuffle = true, .seed = 5, .batch_size = batch_size};
}

}  // namespace

TEST_CASE("length buckets have each sample once and reduce the padding") {
  for (const int64_t size : {1, 8, 100, 12345}) {
    CAPTURE(size);
    const std::vector<int64_t> lengths = make_lengths(size);
    const Sampler sampler(size, bucketed(8), {lengths, {}});
    const std::vector<int64_t> order = sampler.order(1);
    CHECK(sorted(order) == sequential_order(size));
    if (size > 100)
      CHECK(count_padding(order, lengths, 8) * 10 < count_padding(shuffled_order(size, 5, 1), lengths, 8));
  }
}

TEST_CASE("length buckets differ in each epoch, with short and long batches in random order") {
  const std::vector<int64_t> lengths = make_lengths(4000);
  const Sampler sampler(4000, bucketed(8), {lengths, {}});
  CHECK(sampler.order(1) == sampler.order(1));
  CHECK(sampler.order(1) != sampler.order(2));
  const std::vector<int64_t> order = sampler.order(1);
  int longer = 0;
  for (size_t i = 8; i < order.size(); i += 8)
    longer += lengths[static_cast<size_t>(order[i])] > lengths[static_cast<size_t>(order[i - 8])];
  CHECK(longer > 200);
  CHECK(longer < 300);
  // The same samples do not always share a batch.
  const std::vector<int64_t> other = sampler.order(2);
  std::set<std::vector<int64_t>> batches;
  for (auto i = order.begin(); i < order.end(); i += 8) batches.insert(sorted({i, i + 8}));
  size_t again = 0;
  for (auto i = other.begin(); i < other.end(); i += 8) again += batches.contains(sorted({i, i + 8}));
  CHECK(again < 5);
}

TEST_CASE("without shuffle, length buckets are the samples sorted by length") {
  SamplerOptions options = bucketed(8);
  options.shuffle = false;
  const std::vector<int64_t> lengths = {3, 1, 2, 1, 0};
  CHECK(Sampler(5, options, {lengths, {}}).order(1) == std::vector<int64_t>{4, 1, 3, 2, 0});
}

TEST_CASE("ranks share length buckets: together they have each sample once, and each has batches of similar lengths") {
  const std::vector<int64_t> lengths = make_lengths(1003);
  std::vector<int64_t> all;
  for (int64_t rank = 0; rank < 3; ++rank) {
    SamplerOptions options = bucketed(8);
    options.rank = rank;
    options.world = 3;
    const std::vector<int64_t> order = Sampler(1003, options, {lengths, {}}).order(4);
    CHECK(count_padding(order, lengths, 8) * 5 < count_padding(shuffled_order(1003, 5, 1), lengths, 8) / 3);
    all.insert(all.end(), order.begin(), order.end());
  }
  CHECK(sorted(all) == sequential_order(1003));
}

TEST_CASE("samples are chosen in proportion to their weights") {
  const std::vector<double> weights = {0, 1, 3, 0, 6, 0};
  std::map<int64_t, int64_t> counts;
  const Sampler sampler(6, {.kind = SamplerKind::weighted, .shuffle = true, .seed = 3}, {{}, weights});
  CHECK(sampler.size() == 6);
  CHECK(sampler.order(1) == sampler.order(1));
  for (int64_t epoch = 1; epoch <= 10000; ++epoch)
    for (const int64_t sample : sampler.order(epoch)) ++counts[sample];
  CHECK(counts.size() == 3);
  // 60000 draws: five standard deviations of a binomial count.
  for (const auto& [sample, expected] : std::map<int64_t, double>{{1, 0.1}, {2, 0.3}, {4, 0.6}})
    CHECK(std::abs(static_cast<double>(counts[sample]) - 60000 * expected) <
          5 * std::sqrt(60000 * expected * (1 - expected)));
}

TEST_CASE("weights apply within a subset, and the limit of an epoch is the number of draws") {
  std::vector<double> weights(1000, 1);
  const tenon::config::Subset half{0, tenon::config::Subset::kWhole / 2};
  const std::vector<int64_t> allowed = subset_samples(1000, half, 9);
  weights[static_cast<size_t>(allowed[17])] = 1e6;
  const Sampler sampler(
      1000, {.kind = SamplerKind::weighted, .shuffle = true, .seed = 3, .subset = half, .subset_seed = 9, .most = 200},
      {{}, weights});
  const std::vector<int64_t> order = sampler.order(1);
  CHECK(order.size() == 200);
  CHECK(std::ranges::count(order, allowed[17]) > 190);
  for (const int64_t sample : order) CHECK(std::ranges::binary_search(allowed, sample));
}

TEST_CASE("ranks together choose the same weighted samples as a single process") {
  const std::vector<double> weights = {5, 1, 1, 1, 1, 1, 1};
  SamplerOptions options{.kind = SamplerKind::weighted, .shuffle = true, .seed = 3};
  const std::vector<int64_t> alone = Sampler(7, options, {{}, weights}).order(2);
  std::vector<int64_t> together(7);
  options.world = 2;
  for (options.rank = 0; options.rank < 2; ++options.rank) {
    int64_t place = options.rank;
    for (const int64_t sample : Sampler(7, options, {{}, weights}).order(2)) {
      together[static_cast<size_t>(place)] = sample;
      place += 2;
    }
  }
  CHECK(together == alone);
}

TEST_CASE("repeated augmentation has each sample several times in succession, in epochs of the same length") {
  for (const int64_t size : {1, 2, 10, 1000}) {
    CAPTURE(size);
    const Sampler once(size, {.shuffle = true, .seed = 3});
    const Sampler repeated(size, {.shuffle = true, .seed = 3, .repeats = 3});
    CHECK(repeated.size() == size);
    const std::vector<int64_t> order = repeated.order(4);
    const std::vector<int64_t> repetitions = repeated.repetitions(4);
    REQUIRE(static_cast<int64_t>(order.size()) == size);
    REQUIRE(repetitions.size() == order.size());
    for (size_t place = 0; place < order.size(); ++place) {
      CHECK(order[place] == once.order(4)[place / 3]);
      CHECK(repetitions[place] == static_cast<int64_t>(place % 3));
    }
    CHECK(repeated.first(4) == order.front());
  }
}

TEST_CASE("a pass that is always the same, and one without repeats, have no repetitions") {
  const Sampler repeated(10, {.shuffle = true, .seed = 3, .repeats = 2});
  CHECK(repeated.order(0) == shuffled_order(10, 3, 0));
  CHECK(repeated.repetitions(0).empty());
  CHECK(Sampler(10, {.shuffle = true, .seed = 3}).repetitions(1).empty());
}

TEST_CASE("repetitions of a sample are on different ranks, and count on over all of them") {
  const SamplerOptions options{.kind = SamplerKind::uniform, .shuffle = true, .seed = 3, .repeats = 2};
  const Sampler alone(1000, options);
  std::set<std::pair<int64_t, int64_t>> seen;
  for (const int64_t rank : {0, 1}) {
    SamplerOptions of_rank = options;
    of_rank.rank = rank;
    of_rank.world = 2;
    const Sampler sampler(1000, of_rank);
    const std::vector<int64_t> order = sampler.order(1);
    const std::vector<int64_t> repetitions = sampler.repetitions(1);
    REQUIRE(order.size() == 500);
    CHECK(std::set(order.begin(), order.end()).size() == 500);
    CHECK(repetitions == std::vector<int64_t>(500, rank));
    for (size_t place = 0; place < order.size(); ++place) seen.insert({order[place], repetitions[place]});
  }
  CHECK(seen.size() == 1000);
  const std::vector<int64_t> order = alone.order(1);
  for (size_t place = 0; place < order.size(); ++place)
    CHECK(seen.count({order[place], alone.repetitions(1)[place]}) == 1);
}

TEST_CASE("repeats work with a subset, a limit and the other samplers") {
  const Sampler subset(1000, {.seed = 3, .repeats = 4, .subset = {0, tenon::config::Subset::kWhole / 2}, .most = 10});
  const std::vector<int64_t> samples = subset_samples(1000, {0, tenon::config::Subset::kWhole / 2}, 0);
  CHECK(subset.order(1) == std::vector<int64_t>{samples[0], samples[0], samples[0], samples[0], samples[1], samples[1],
                                                samples[1], samples[1], samples[2], samples[2]});
  CHECK(subset.repetitions(1) == std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1});

  SamplerOptions options = bucketed(8);
  options.repeats = 2;
  const Sampler buckets(100, options, {make_lengths(100), {}});
  std::map<int64_t, int64_t> counts;
  for (const int64_t sample : buckets.order(1)) ++counts[sample];
  CHECK(counts.size() == 50);
  for (const auto& [sample, count] : counts) CHECK(count == 2);
}

TEST_CASE("draws of one sample by the weighted sampler are numbered") {
  const Sampler sampler(4, {.kind = SamplerKind::weighted, .shuffle = true, .seed = 3}, {{}, {1, 1, 1, 5}});
  const std::vector<int64_t> order = sampler.order(1);
  const std::vector<int64_t> repetitions = sampler.repetitions(1);
  REQUIRE(repetitions.size() == 4);
  for (size_t place = 0; place < order.size(); ++place)
    CHECK(repetitions[place] == std::count(order.begin(), order.begin() + static_cast<ptrdiff_t>(place), order[place]));
}

TEST_CASE("with drop_last, length buckets leave out other samples in each epoch") {
  const int64_t size = 100;
  SamplerOptions options = bucketed(8);
  options.drop_last = true;
  const Sampler sampler(size, options, {make_lengths(size), {}});
  CHECK(sampler.size() == 96);
  std::set<int64_t> seen;
  for (int64_t epoch = 1; epoch <= 30; ++epoch) {
    const std::vector<int64_t> order = sampler.order(epoch);
    CHECK(order.size() == 96);
    const std::set<int64_t> samples(order.begin(), order.end());
    CHECK(samples.size() == 96);
    seen.insert(samples.begin(), samples.end());
  }
  CHECK(seen.size() == size);  // also the longest ones
}

TEST_CASE("with drop_last, the weighted sampler draws whole batches") {
  std::vector<double> weights(50, 1);
  const Sampler sampler(50, {.kind = SamplerKind::weighted, .batch_size = 16, .drop_last = true}, {{}, weights});
  CHECK(sampler.order(1).size() == 48);
}
