#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "example_checkpoint.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "scratch.h"

namespace tenon::artifacts {

namespace {

// Writes checkpoints in a child process and kills the process after a delay.
void write_until_killed(const std::filesystem::path& folder, int64_t first_step, std::chrono::microseconds after) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      CheckpointStore store(folder, {2});
      for (int64_t step = first_step;; ++step) write_example(store, step, 50'000);
    } catch (...) {
      ::_exit(1);
    }
  }
  std::this_thread::sleep_for(after);
  ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));  // the process did not fail
}

// Measures the time of a checkpoint on this disk, to spread the kills over it. Capped to limit the time of the test.
std::chrono::microseconds time_one_checkpoint() {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {2});
  write_example(store, 1, 50'000);
  const auto start = std::chrono::steady_clock::now();
  write_example(store, 2, 50'000);
  const auto taken = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  return std::min(taken, std::chrono::microseconds(500'000));
}

}  // namespace

TEST_CASE("after a kill at any moment, all existing checkpoints are intact and latest is one of them") {
  const Scratch scratch;
  const auto typical = time_one_checkpoint();
  std::mt19937 random(5);
  int64_t last_step = 0;
  int leftovers = 0;
  // Adds more and longer rounds if, on a busy machine, no checkpoint was completed or none was interrupted.
  const auto is_enough = [&](int round) { return round >= 40 && last_step > 0 && leftovers > 0; };
  for (int round = 0; !is_enough(round) && round < 400; ++round) {
    write_until_killed(scratch.path(), last_step + 1, typical * (random() % 300) * (1 + round / 40) / 100);
    for (const auto& name : list_names(scratch.path())) {
      if (name.starts_with('.')) ++leftovers;
      if (name.starts_with("step-")) CHECK_NOTHROW(verify_checkpoint(scratch / name));
    }
    const auto latest = find_linked_checkpoint(scratch.path(), kLatest);
    if (!latest) continue;
    const int64_t step = verify_checkpoint(*latest).step;
    CHECK(step >= last_step);
    last_step = step;
  }
  CHECK(last_step > 0);
  CHECK(leftovers > 0);  // otherwise no checkpoint was interrupted
  CheckpointStore store(scratch.path(), {2});
  write_example(store, last_step + 1);
  for (const auto& name : list_names(scratch.path())) CHECK_FALSE(name.starts_with('.'));
}

}  // namespace tenon::artifacts
