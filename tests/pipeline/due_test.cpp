#include "framework/pipeline/state/due.h"
#include "tests/doctest_with_torch.h"

using namespace tenon::pipeline;
using Unit = tenon::config::Period::Unit;

namespace {

// The steps at which it is due, of 12 steps with 4 per epoch and one per second.
std::vector<int64_t> due_steps(Unit unit, double count) {
  Due due({unit, count});
  std::vector<int64_t> steps;
  RunState state;
  state.steps_per_epoch = 4;
  for (int64_t step = 1; step <= 12; ++step) {
    state.step = step;
    state.epoch = (step - 1) / 4 + 1;
    state.step_in_epoch = (step - 1) % 4 + 1;
    state.is_epoch_complete = state.step_in_epoch == 4;
    state.time_s = static_cast<double>(step);
    if (!due.now(state, state.time_s)) continue;
    steps.push_back(step);
    due.restart(state.time_s);
  }
  return steps;
}

}  // namespace

TEST_CASE("actions are due after their periods") {
  CHECK(due_steps(Unit::never, 0).empty());
  CHECK(due_steps(Unit::epochs, 1) == std::vector<int64_t>{4, 8, 12});
  CHECK(due_steps(Unit::epochs, 2) == std::vector<int64_t>{8});
  CHECK(due_steps(Unit::steps, 5) == std::vector<int64_t>{5, 10});
  CHECK(due_steps(Unit::seconds, 4.5) == std::vector<int64_t>{5, 10});
}

TEST_CASE("a time period starts at the end of the action") {
  Due due({Unit::seconds, 4});
  RunState state;
  std::vector<int64_t> steps;
  for (state.step = 1; state.step <= 12; ++state.step) {
    state.time_s += 1;  // a step
    if (!due.now(state, state.time_s)) continue;
    steps.push_back(state.step);
    state.time_s += 10;  // the action takes longer than the period
    due.restart(state.time_s);
  }
  CHECK(steps == std::vector<int64_t>{4, 8, 12});
}

TEST_CASE("an action that was not due also restarts the period") {
  Due due({Unit::seconds, 4});
  RunState state;
  state.time_s = 3;
  due.restart(state.time_s);
  state.time_s = 6;
  CHECK_FALSE(due.now(state, state.time_s));
  state.time_s = 7;
  CHECK(due.now(state, state.time_s));
}
