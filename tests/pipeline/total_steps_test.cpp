#include "framework/pipeline/state/step_count.h"

#include <limits>
#include <string>

#include "tests/doctest_with_torch.h"
#include "tests/messages.h"

using namespace tenon;
using namespace tenon::pipeline;

TEST_CASE("epochs are converted to steps, and steps are unchanged") {
  CHECK(count_total_steps({.epochs = 3, .steps = 0, .place = ""}, 23) == 69);
  CHECK(count_total_steps({.epochs = 0, .steps = 5, .place = ""}, 23) == 5);
  CHECK(count_total_steps({.epochs = 1, .steps = 0, .place = ""}, 1'000'000'000'000'000) == 1'000'000'000'000'000);
}

TEST_CASE("too many steps are refused with their location, without overflow") {
  for (const int64_t steps_per_epoch : {int64_t{1'000'000}, std::numeric_limits<int64_t>::max()}) {
    CHECK(find_error(support::ErrorKind::configuration,
                     [&] {
                       count_total_steps({.epochs = 4294967295, .steps = 0, .place = "run.toml:7:10"}, steps_per_epoch);
                     }) == "run.toml:7:10: train.epochs is 4294967295 with " + std::to_string(steps_per_epoch) +
                               " steps in each; expected at most 1e15 steps in total; use fewer epochs or a larger "
                               "data.batch_size");
  }
}
