#include "framework/data/plugin_samples.h"

#include <doctest/doctest.h>

#include <set>

#include "framework/data/sampler.h"
#include "tests/data/numbered_samples.h"

using namespace tenon::data;

namespace {

std::set<uint64_t> sample_seeds_of(uint64_t run_seed, const char* dataset, int64_t epoch) {
  NumberedSamples source(50);
  std::set<uint64_t> seeds;
  source.on_get = [&](const SampleRequest& request) { seeds.insert(request.seed); };
  Loader loader(source,
                {.batch_size = 10, .workers = 0, .prefetch = 1, .seed = derive_dataset_seed(run_seed, dataset)});
  read_pass(source, loader, sequential_order(50), epoch);
  return seeds;
}

}  // namespace

TEST_CASE("a dataset's seed depends on the run's seed and on the dataset's name") {
  std::set<uint64_t> seeds;
  for (const uint64_t run_seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40})
    for (const char* name : {"train", "validation", "validation/clean", "validation/noisy", "validation/train"})
      seeds.insert(derive_dataset_seed(run_seed, name));
  CHECK(seeds.size() == 15);
  CHECK(derive_dataset_seed(3, "validation/clean") == derive_dataset_seed(3, "validation/clean"));
}

TEST_CASE("the training data have the seed of the run") {
  CHECK(derive_dataset_seed(0, "train") == 0);
  CHECK(derive_dataset_seed(11, "train") == 11);
}

TEST_CASE("no sample of one dataset has the seed of a sample of another") {
  std::set<uint64_t> seeds;
  size_t drawn = 0;
  for (const char* name : {"train", "validation", "validation/clean", "validation/noisy"}) {
    for (const int64_t epoch : {0, 1, 2}) {
      const auto some = sample_seeds_of(5, name, epoch);
      drawn += some.size();
      seeds.insert(some.begin(), some.end());
    }
  }
  CHECK(drawn == 4 * 3 * 50);
  CHECK(seeds.size() == drawn);
}
