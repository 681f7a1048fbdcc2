// ctest sets GOMP_SPINCOUNT to minutes, so that a thread sleeps only if spinning is limited.
#include "framework/pipeline/threads/spin_limiter.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/doctest_with_torch.h"

using namespace tenon::pipeline;

namespace {

int64_t count_threads() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// Returns how often a thread of this process has given up its core to wait.
int64_t count_sleeps(int64_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  const std::string key = "voluntary_ctxt_switches:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoll(line.substr(key.size()));
  return -1;
}

// Returns the nanoseconds for which a thread of this process has run.
int64_t measure_run_time(int64_t thread) {
  int64_t time = -1;
  std::ifstream("/proc/self/task/" + std::to_string(thread) + "/schedstat") >> time;
  return time;
}

struct Waiting {
  int64_t waited_for;  // the thread that the other one waits for
  std::atomic<int64_t> other = 0;
  std::atomic<int64_t> before = -1;
};

void wait_in_region(void* data) {
  auto& waiting = *static_cast<Waiting*>(data);
  const int64_t thread = syscall(SYS_gettid);
  if (thread != waiting.waited_for) {
    waiting.other = thread;
    waiting.before = count_sleeps(thread);
    return;
  }
  while (waiting.before == -1) std::this_thread::yield();
  // Until the other thread has slept, or spun for much longer than the rest of its work takes.
  const int64_t enough = measure_run_time(waiting.other) + 20'000'000;
  while (count_sleeps(waiting.other) == waiting.before && measure_run_time(waiting.other) < enough)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Runs a parallel region of two threads in which the other thread waits for this one. Returns how often the other
// thread slept.
int64_t sleeps_of_waiting_thread() {
  // What compilers call for `#pragma omp parallel`.
  using RunParallel = void (*)(void (*)(void*), void*, unsigned threads, unsigned flags);
  static const auto run_parallel = reinterpret_cast<RunParallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  const bool uses_libgomp = run_parallel != nullptr;
  REQUIRE(uses_libgomp);
  Waiting waiting{syscall(SYS_gettid)};
  run_parallel(wait_in_region, &waiting, 2, 0);
  return count_sleeps(waiting.other) - waiting.before;
}

}  // namespace

TEST_CASE("threads of libgomp sleep at once while a SpinLimit exists, and spin otherwise") {
  const int64_t cores = std::thread::hardware_concurrency();
  if (cores < 2) {
    MESSAGE("skipped: needs two cores");
    return;
  }
  sleeps_of_waiting_thread();  // starts the thread
  const int64_t threads = count_threads();
  CHECK(sleeps_of_waiting_thread() == 0);
  for (int round = 0; round < 2; ++round) {
    {
      const SpinLimit limit(2);
      // The master and the other threads of the team.
      while (count_threads() < threads + cores) std::this_thread::yield();
      sleeps_of_waiting_thread();  // ends the wait that began before the limit
      CHECK(sleeps_of_waiting_thread() >= 1);
    }
    while (count_threads() > threads) std::this_thread::yield();  // the threads of the team end a little later
    sleeps_of_waiting_thread();
    CHECK(sleeps_of_waiting_thread() == 0);
  }
}

TEST_CASE("the time without a core is counted") {
  CoreWaits waits;
  CHECK(waits.since_last_call() == 0);
  // More spinning threads than cores must wait.
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency() + 1; ++i)
    threads.emplace_back([&] {
      while (!is_over) continue;
    });
  int64_t waited = 0;
  waits.since_last_call();
  for (int i = 0; i < 500 && waited == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    waited += waits.since_last_call();
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(waited > 0);
}

TEST_CASE("threads spin until others need the cores, and again when the cores are free") {
  SpinDecision decision;
  for (int i = 0; i < 100; ++i) CHECK(decision.update(0.1));
  CHECK_FALSE(decision.update(0.9));
  for (int i = 0; i < 50; ++i) CHECK_FALSE(decision.update(0.5));
  for (int i = 0; i < 4; ++i) CHECK_FALSE(decision.update(0.02));
  CHECK(decision.update(0.02));
}

TEST_CASE("a short contention while threads sleep restarts the wait for free cores") {
  SpinDecision decision;
  CHECK_FALSE(decision.update(0.9));
  for (int i = 0; i < 4; ++i) CHECK_FALSE(decision.update(0.02));
  CHECK_FALSE(decision.update(0.2));
  for (int i = 0; i < 4; ++i) CHECK_FALSE(decision.update(0.02));
  CHECK(decision.update(0.02));
}

TEST_CASE("if spinning is contended soon, it is tried less often, up to every 8 seconds") {
  SpinDecision decision;
  CHECK_FALSE(decision.update(0.9));
  for (const int intervals : {5, 10, 20, 40, 80, 80}) {
    for (int i = 1; i < intervals; ++i) CHECK_FALSE(decision.update(0));
    CHECK(decision.update(0));
    CHECK_FALSE(decision.update(0.9));
  }
  // After a while without contention, the shortest time applies again.
  for (int i = 1; i < 80; ++i) decision.update(0);
  for (int i = 0; i < 30; ++i) CHECK(decision.update(0));
  CHECK_FALSE(decision.update(0.9));
  for (int i = 1; i < 5; ++i) CHECK_FALSE(decision.update(0));
  CHECK(decision.update(0));
}
