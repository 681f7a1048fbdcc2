#include "framework/pipeline/due.h"
#include "tests/doctest_with_torch.h"

using namespace tenon::pipeline;
using Unit = tenon::config::Period::Unit;

namespace {

// The steps (of 12, 4 an epoch, one a second) after which it is due.
std::vector<int64_t> due_steps(Unit unit, double count) {
  Due due({unit, count});
  std::vector<int64_t> steps;
  RunState state;
  state.steps_per_epoch = 4;
  for (int64_t step = 1; step <= 12; ++step) {
    state.step = step;
    state.epoch = (step - 1) / 4 + 1;
    state.step_in_epoch = (step - 1) % 4 + 1;
    state.time_s = static_cast<double>(step);
    if (due.now(state)) steps.push_back(step);
  }
  return steps;
}

}  // namespace

TEST_CASE("periods are due at their times") {
  CHECK(due_steps(Unit::never, 0).empty());
  CHECK(due_steps(Unit::epochs, 1) == std::vector<int64_t>{4, 8, 12});
  CHECK(due_steps(Unit::epochs, 2) == std::vector<int64_t>{8});
  CHECK(due_steps(Unit::steps, 5) == std::vector<int64_t>{5, 10});
  CHECK(due_steps(Unit::seconds, 4.5) == std::vector<int64_t>{5, 10});
}
