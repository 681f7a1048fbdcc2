// Where the models of a predictor run.
#include "host/predictor/worker_threads.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using tenon::predictor::FreeNumbers;
using tenon::predictor::WorkerThreads;

TEST_CASE("work is done on the threads, and its exceptions reach the thread that waits") {
  std::atomic<int> started = 0;
  WorkerThreads threads(3, [&](size_t) { ++started; });
  CHECK(started == 3);
  std::atomic<int> done = 0, caught = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 500; ++i) {
        try {
          threads.run([&](size_t number) {
            if (number >= 3 || (caller + i) % 5 == 0) throw std::runtime_error(std::to_string(i));
            ++done;
          });
        } catch (const std::runtime_error& error) {
          caught += error.what() == std::to_string(i);
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(done == 8 * 400);
  CHECK(caught == 8 * 100);
}

TEST_CASE("a thread that cannot be prepared is reported, and the others end") {
  const auto start = [] {
    WorkerThreads threads(4, [](size_t number) {
      if (number == 2) throw std::runtime_error("no memory for thread 2");
    });
  };
  CHECK_THROWS_WITH_AS(start(), "no memory for thread 2", std::runtime_error);
}

TEST_CASE("no two threads have a number at the same time") {
  constexpr size_t kNumbers = 3;
  FreeNumbers numbers(kNumbers);
  std::vector<int> unguarded(kNumbers);  // a data race if two threads had one number
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const FreeNumbers::Use use(numbers);
        ++unguarded[use.number()];
      }
    });
  for (std::thread& thread : threads) thread.join();
  int total = 0;
  for (const int count : unguarded) total += count;
  CHECK(total == 8 * 1000);
}
