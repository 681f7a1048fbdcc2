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
    if (!due.advance(state, state.time_s)) continue;
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

TEST_CASE("a part of an epoch is due when a step ends it") {
  CHECK(due_steps(Unit::epochs, 0.5) == std::vector<int64_t>{2, 4, 6, 8, 10, 12});
  CHECK(due_steps(Unit::epochs, 0.25) == std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(due_steps(Unit::epochs, 0.1) == std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  // Each epoch starts again: 0.3, 0.6 and 0.9 of it, and its last part is shorter.
  CHECK(due_steps(Unit::epochs, 0.3) == std::vector<int64_t>{2, 3, 4, 6, 7, 8, 10, 11, 12});
  CHECK(due_steps(Unit::epochs, 0.7) == std::vector<int64_t>{3, 7, 11});
}

namespace {

// Calls `visit` after each of so many steps of an epoch.
template <class Visit>
void run_epoch(RunState& state, int64_t epoch, int64_t steps, Visit visit) {
  state.epoch = epoch;
  for (state.step_in_epoch = 1; state.step_in_epoch <= steps; ++state.step_in_epoch) {
    ++state.step;
    state.is_epoch_complete = state.step_in_epoch == steps;
    visit();
  }
}

}  // namespace

TEST_CASE("a part of an epoch that is not a number of steps is due as often, the last time at the epoch's end") {
  for (const int64_t steps : {5, 7, 10, 30, 49, 1000})
    for (const int64_t parts : {2, 3, 4, 5}) {
      CAPTURE(steps);
      CAPTURE(parts);
      Due due({Unit::epochs, 1.0 / static_cast<double>(parts)});
      RunState state;
      state.steps_per_epoch = steps;
      for (int64_t epoch = 1; epoch <= 3; ++epoch) {
        std::vector<int64_t> found;
        run_epoch(state, epoch, steps, [&] {
          if (due.advance(state, 0)) found.push_back(state.step_in_epoch);
        });
        REQUIRE(found.size() == static_cast<size_t>(parts));
        for (int64_t part = 1; part <= parts; ++part)
          CHECK(found[static_cast<size_t>(part - 1)] == (part * steps + parts - 1) / parts);
      }
    }
}

TEST_CASE("the end of an epoch with fewer steps than expected, and a batch without a step, are due once") {
  Due due({Unit::epochs, 0.5});
  RunState state;
  state.steps_per_epoch = 10;
  std::vector<int64_t> found;
  run_epoch(state, 1, 6, [&] {
    for (int call = 0; call < 2; ++call)
      if (due.advance(state, 0)) found.push_back(state.step);
  });
  CHECK(found == std::vector<int64_t>{5, 6});
}

TEST_CASE("a part of an epoch resumes anywhere, also from a checkpoint of another period") {
  const tenon::config::Period quarter{Unit::epochs, 0.25};
  for (int64_t stop = 1; stop <= 20; ++stop) {
    CAPTURE(stop);
    Due whole(quarter), first(quarter), resumed(quarter), changed(quarter);
    RunState state;
    state.steps_per_epoch = 10;
    for (int64_t epoch = 1; epoch <= 2; ++epoch)
      run_epoch(state, epoch, 10, [&] {
        const bool expected = whole.advance(state, 0);
        if (state.step > stop) {
          CHECK(resumed.advance(state, 0) == expected);
          CHECK(changed.advance(state, 0) == expected);
          return;
        }
        CHECK(first.advance(state, 0) == expected);
        SavedState saved, other;
        first.save("validation", saved);
        Due({Unit::steps, 3}).save("validation", other);
        resumed.load("validation", saved);
        changed.load("validation", other);
      });
  }
}

TEST_CASE("a time period starts at the end of the action") {
  Due due({Unit::seconds, 4});
  RunState state;
  std::vector<int64_t> steps;
  for (state.step = 1; state.step <= 12; ++state.step) {
    state.time_s += 1;  // a step
    if (!due.advance(state, state.time_s)) continue;
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
  CHECK_FALSE(due.advance(state, state.time_s));
  state.time_s = 7;
  CHECK(due.advance(state, state.time_s));
}
