#include "framework/components/tensors/frame.h"

#include <set>

#include "tests/doctest_with_torch.h"

using namespace tenon::components;

namespace {

uint64_t seed_of(const StepContext& context) {
  const std::vector<tenon_tensor*> none;
  return Frame(context, none).get()->seed;
}

}  // namespace

TEST_CASE("a frame's seed is a function of run seed, rank, step, and training or not") {
  std::set<uint64_t> seeds;
  for (const uint64_t seed : {0, 1})
    for (const uint32_t rank : {0, 1})
      for (const int64_t step : {0, 1, 2})
        for (const bool training : {false, true}) {
          const StepContext context{.training = training, .step = step, .rank = rank, .world_size = 2, .seed = seed};
          CHECK(seed_of(context) == seed_of(context));
          StepContext other_epoch = context;
          other_epoch.epoch = 5;
          CHECK(seed_of(other_epoch) == seed_of(context));
          seeds.insert(seed_of(context));
        }
  CHECK(seeds.size() == 24);
}
