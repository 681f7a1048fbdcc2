// Tests of abandoned passes.
#include <doctest/doctest.h>

#include <random>
#include <thread>

#include "framework/data/loader.h"
#include "framework/data/sampler.h"
#include "tests/data/numbered_samples.h"

using namespace tenon::data;

TEST_CASE("a pass may be abandoned at any point, for another or for good") {
  std::mt19937 random(1);
  NumberedSamples reference(97);
  Loader reader(reference, {.batch_size = 5, .workers = 0, .prefetch = 1, .seed = 2});
  const auto expected = read_pass(reference, reader, shuffled_order(97, 2, 3), 3);

  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    NumberedSamples source(97);
    source.on_get = [](const SampleRequest& request) {
      if (request.index % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(request.index));
    };
    const auto pause = [&] { std::this_thread::sleep_for(std::chrono::microseconds(random() % 300)); };
    const int64_t workers = static_cast<int64_t>(random() % 5);
    const int64_t prefetch = 1 + static_cast<int64_t>(random() % 3);
    Loader loader(source, {.batch_size = 5, .workers = workers, .prefetch = prefetch, .seed = 2});
    loader.start(shuffled_order(97, 2, 1), 1);
    for (uint64_t left = random() % 21; left > 0; --left) loader.next();
    pause();
    if (trial % 2 == 0) {
      loader.start(shuffled_order(97, 2, 2), 2);
      pause();
      CHECK(read_pass(source, loader, shuffled_order(97, 2, 3), 3) == expected);
    }
  }
}

TEST_CASE("abandoning a pass waits only for the samples that are being read") {
  constexpr int64_t kWorkers = 2;
  NumberedSamples source(5000);
  std::atomic<int64_t> slow_reads{0};
  source.on_get = [&](const SampleRequest& request) {
    if (request.epoch != 1 || request.index < 500) return;  // cheap samples first, so that workers take many at once
    ++slow_reads;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  Loader loader(source, {.batch_size = 5000, .workers = kWorkers, .prefetch = 1, .seed = 0});
  loader.start(sequential_order(5000), 1);
  while (slow_reads == 0) std::this_thread::yield();
  loader.start({1, 2, 3}, 2);
  CHECK(slow_reads <= 2 * kWorkers);  // of 4500
  CHECK(indices_of(*loader.next()) == std::vector<int64_t>{1, 2, 3});
}

TEST_CASE("a loader that was never started, or never read from, ends at once") {
  NumberedSamples source(1000);
  source.on_get = [](const SampleRequest&) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  { const Loader never_started(source, {.batch_size = 10, .workers = 4, .prefetch = 2, .seed = 0}); }
  CHECK(source.workers_opened == 0);
  {
    Loader never_read(source, {.batch_size = 500, .workers = 4, .prefetch = 2, .seed = 0});
    never_read.start(sequential_order(1000), 1);
  }
  CHECK(source.samples_read < 1000);
}

TEST_CASE("a loader ends, or starts over, while a worker is being opened") {
  NumberedSamples source(10);
  std::atomic<bool> opening{false};
  source.on_open = [&](uint64_t, uint64_t) {
    opening = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  {
    Loader loader(source, {.batch_size = 5, .workers = 2, .prefetch = 2, .seed = 0});
    loader.start(sequential_order(10), 1);
    while (!opening) std::this_thread::yield();
  }
  opening = false;
  Loader loader(source, {.batch_size = 5, .workers = 2, .prefetch = 2, .seed = 0});
  loader.start(sequential_order(10), 1);
  while (!opening) std::this_thread::yield();
  loader.start({7}, 1);
  CHECK(indices_of(*loader.next()) == std::vector<int64_t>{7});
}
