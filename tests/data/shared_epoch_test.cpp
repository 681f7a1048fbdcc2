// An epoch that several ranks share. Together they read the same batches as a single process.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "framework/data/loader.h"
#include "framework/data/sampler.h"
#include "tests/data/numbered_samples.h"

using namespace tenon::data;

namespace {

struct Case {
  int64_t size;
  int64_t world;
  int64_t batch;
};

// The indices of each batch that a rank read, by batch number. A batch without a share of the rank is missing.
using Batches = std::vector<std::vector<int64_t>>;

Batches read_rank(const Case& shared, SamplerOptions options, int64_t workers) {
  NumberedSamples source(shared.size);
  Loader loader(source, {.batch_size = shared.batch,
                         .workers = workers,
                         .prefetch = 2,
                         .seed = options.seed,
                         .rank = static_cast<uint32_t>(options.rank)});
  loader.start(Sampler(shared.size, options).order(2), 2);
  Batches batches;
  while (const Batch* batch = loader.next()) batches.push_back(indices_of(*batch));
  return batches;
}

// Interleaves the k-th batches of all ranks: place p of the common batch belongs to rank p % world.
Batches interleave(const std::vector<Batches>& ranks) {
  Batches common(ranks.front().size());
  for (size_t k = 0; k < common.size(); ++k)
    for (size_t place = 0; true; ++place) {
      const Batches& batches_of_rank = ranks[place % ranks.size()];
      if (k >= batches_of_rank.size() || place / ranks.size() >= batches_of_rank[k].size()) break;
      common[k].push_back(batches_of_rank[k][place / ranks.size()]);
    }
  return common;
}

void check_shared(const Case& shared, SamplerOptions options) {
  std::vector<Batches> ranks;
  std::multiset<int64_t> seen;
  options.world = shared.world;
  for (options.rank = 0; options.rank < shared.world; ++options.rank) {
    ranks.push_back(read_rank(shared, options, options.rank % 3));
    for (const auto& batch : ranks.back()) seen.insert(batch.begin(), batch.end());
  }
  options.rank = 0;
  options.world = 1;
  const Case alone{shared.size, 1, shared.world * shared.batch};
  const std::vector<int64_t> all = Sampler(shared.size, options).order(2);
  CHECK(seen == std::multiset<int64_t>(all.begin(), all.end()));
  CHECK(interleave(ranks) == read_rank(alone, options, 0));
}

std::vector<Case> random_cases() {
  std::mt19937_64 random(17);
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
  std::vector<Case> cases;
  for (int i = 0; i < 100; ++i) cases.push_back({below(200), 1 + below(9), 1 + below(20)});
  return cases;
}

}  // namespace

TEST_CASE("all ranks together read every sample exactly once, in the batches of a single process") {
  for (const Case& shared : random_cases()) {
    CAPTURE(shared.size);
    CAPTURE(shared.world);
    CAPTURE(shared.batch);
    check_shared(shared, {.shuffle = true, .seed = 4});
  }
}

TEST_CASE("ranks share a subset and a limited epoch in the same way") {
  for (const Case& shared : random_cases()) {
    CAPTURE(shared.size);
    CAPTURE(shared.world);
    CAPTURE(shared.batch);
    check_shared(shared, {.shuffle = true, .seed = 4, .subset = *tenon::config::parse_subset("20%-70.5%")});
    check_shared(shared, {.most = 2 * shared.world * shared.batch});
  }
}

TEST_CASE("the shares of two ranks differ by at most one sample") {
  for (const Case& shared : random_cases()) {
    std::vector<size_t> shares;
    for (int64_t rank = 0; rank < shared.world; ++rank)
      shares.push_back(Sampler(shared.size, {.rank = rank, .world = shared.world}).order(1).size());
    CHECK(shares.front() - shares.back() <= 1);
    CHECK(std::is_sorted(shares.rbegin(), shares.rend()));
  }
}
