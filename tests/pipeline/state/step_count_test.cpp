#include "framework/pipeline/state/step_count.h"
#include "tests/doctest_with_torch.h"

using namespace tenon::pipeline;

TEST_CASE("without a change, the position in the schedule is the step") {
  const StepCount steps(7);
  for (int64_t step = 0; step < 30; ++step) CHECK(steps.position(step) == step);
  CHECK(steps.after_epochs(3) == 21);
  CHECK(steps.epochs_after(21) == 3);
  CHECK(steps.epochs_after(22) == 4);
}

TEST_CASE("after a change, epochs end at the same positions of the schedule") {
  for (const int64_t now : {1, 3, 10, 19, 20, 1000}) {
    CAPTURE(now);
    StepCount steps(10);
    steps.change(now, 3, 28);  // epoch 3 has 28 - 20 steps
    CHECK(steps.position(28) == 30);
    CHECK(steps.after_epochs(3) == 28);
    CHECK(steps.after_epochs(5) == 28 + 2 * now);
    CHECK(steps.position(28 + 2 * now) == 50);
    CHECK(steps.epochs_after(28) == 3);
    CHECK(steps.epochs_after(29) == 4);
    CHECK(steps.epochs_after(27) == 3);
    for (int64_t step = 21; step < 28 + 2 * now; ++step) {
      const int64_t advance = steps.position(step + 1) - steps.position(step);
      CHECK(advance >= 10 / now);
      CHECK(advance <= 10 / now + 1);
    }
    CHECK(steps.position(28 + 2 * now - 1) < 50);
  }
}

TEST_CASE("positions of very long runs do not overflow") {
  StepCount steps(1'000'000'000'000);
  steps.change(3, 2, 2'000'000'000'000);
  CHECK(steps.position(2'000'000'000'000 + 3000) == 1'002'000'000'000'000);
}

TEST_CASE("a count is saved, and a change only if there was one") {
  SavedState saved;
  StepCount(7).save(saved);
  CHECK(saved.numbers.size() == 1);
  StepCount steps(1);
  steps.load(saved);
  CHECK(steps.per_epoch() == 7);
  CHECK(steps.first_per_epoch() == 7);
  steps.change(5, 2, 11);
  steps.save(saved);
  StepCount again(1);
  again.load(saved);
  CHECK(again.per_epoch() == 5);
  CHECK(again.first_per_epoch() == 7);
  CHECK(again.position(11) == 14);
  CHECK(again.after_epochs(3) == 16);
}
