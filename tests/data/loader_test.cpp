#include "framework/data/loader.h"

#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "framework/data/sampler.h"
#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/error.h"
#include "tests/data/numbered_samples.h"

using namespace tenon::data;
using tenon::support::derive_seed;
using tenon::support::StreamPurpose;

namespace {

std::vector<std::vector<std::string>> read_with(int64_t workers, int64_t prefetch, int64_t size, int64_t batch_size) {
  NumberedSamples source(size);
  Loader loader(source, {.batch_size = batch_size, .workers = workers, .prefetch = prefetch, .seed = 11});
  auto batches = read_pass(source, loader, shuffled_order(size, 11, 1), 1);
  for (auto& batch : read_pass(source, loader, shuffled_order(size, 11, 2), 2)) batches.push_back(std::move(batch));
  return batches;
}

// Waits until the number is reached, and a little longer to catch values above it.
void wait_until(const std::atomic<int64_t>& number, int64_t expected) {
  for (int i = 0; i < 10000 && number < expected; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace

TEST_CASE("a batch holds the samples of the order, with the seeds of their epoch and index") {
  NumberedSamples source(10);
  std::vector<SampleRequest> requests;
  source.on_get = [&](const SampleRequest& request) { requests.push_back(request); };
  Loader loader(source, {.batch_size = 2, .workers = 1, .prefetch = 1, .seed = 5});
  loader.start({7, 3, 9}, 4);
  CHECK(indices_of(*loader.next()) == std::vector<int64_t>{7, 3});
  CHECK(indices_of(*loader.next()) == std::vector<int64_t>{9});
  CHECK(loader.next() == nullptr);
  CHECK(loader.next() == nullptr);
  REQUIRE(requests.size() == 3);
  for (const SampleRequest& request : requests) {
    CHECK(request.epoch == 4);
    CHECK(request.seed == derive_seed(5, StreamPurpose::sample, 4, static_cast<uint64_t>(request.index)));
  }
}

TEST_CASE("any number of workers gives the same bytes in the same order") {
  for (const int64_t size : {0, 1, 5, 7, 64, 101}) {
    for (const int64_t batch_size : {1, 7, 10}) {
      const auto expected = read_with(0, 1, size, batch_size);
      CHECK(static_cast<int64_t>(expected.size()) == 2 * ((size + batch_size - 1) / batch_size));
      for (const int64_t workers : {1, 2, 7, 64}) {
        for (const int64_t prefetch : {1, 2, 3, 4}) {
          CAPTURE(size);
          CAPTURE(batch_size);
          CAPTURE(workers);
          CAPTURE(prefetch);
          CHECK(read_with(workers, prefetch, size, batch_size) == expected);
        }
      }
    }
  }
}

TEST_CASE("batches keep their order when later samples are ready first") {
  NumberedSamples source(60);
  source.on_get = [](const SampleRequest& request) {
    std::this_thread::sleep_for(std::chrono::microseconds(request.index % 10 == 0 ? 2000 : 10));
  };
  Loader loader(source, {.batch_size = 10, .workers = 7, .prefetch = 4, .seed = 0});
  loader.start(sequential_order(60), 1);
  int64_t expected = 0;
  while (const Batch* batch = loader.next()) {
    for (const int64_t index : indices_of(*batch)) CHECK(index == expected++);
  }
  CHECK(expected == 60);
}

TEST_CASE("a batch stays unchanged until next() is called, also with varying sizes") {
  for (const Sizes sizes : {Sizes::fixed, Sizes::varying}) {
    CAPTURE(static_cast<int>(sizes));
    NumberedSamples source(100, sizes);
    Loader loader(source, {.batch_size = 5, .workers = 4, .prefetch = 2, .seed = 0});
    loader.start(sequential_order(100), 1);
    while (const Batch* batch = loader.next()) {
      const auto before = copy_batch(source, *batch);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      CHECK(copy_batch(source, *batch) == before);
    }
  }
}

TEST_CASE("repetitions of a sample have different random numbers, for any number of workers and from any batch on") {
  NumberedSamples source(40);
  const Sampler sampler(40, {.shuffle = true, .seed = 3, .repeats = 3});
  const auto read = [&](int64_t workers, std::vector<int64_t> repetitions, int64_t first_batch = 0) {
    Loader loader(source, {.batch_size = 6, .workers = workers, .prefetch = 2, .seed = 3});
    loader.start(sampler.order(2), 2, first_batch, std::move(repetitions));
    std::vector<std::vector<std::string>> batches;
    while (const Batch* batch = loader.next()) batches.push_back(copy_batch(source, *batch));
    return batches;
  };
  const auto all = read(0, sampler.repetitions(2));
  REQUIRE(all.size() == 7);
  for (const int64_t workers : {0, 1, 7})
    for (int64_t first = 0; first <= 7; ++first)
      CHECK(read(workers, sampler.repetitions(2), first) == std::vector(all.begin() + first, all.end()));

  // A batch has two samples, three times each. Only the first occurrence has the pixels of a pass without repetitions.
  const auto without = read(0, {});
  const auto pixels = [](const std::vector<std::vector<std::string>>& batches, size_t place) {
    constexpr size_t kBytes = 3 * 5 * sizeof(float);
    const std::string& field = batches[0][0];
    return field.substr(field.size() - (6 - place) * kBytes, kBytes);
  };
  CHECK(pixels(all, 0) == pixels(without, 0));
  CHECK(pixels(without, 1) == pixels(without, 0));
  CHECK(pixels(all, 1) != pixels(all, 0));
  CHECK(pixels(all, 2) != pixels(all, 0));
  CHECK(pixels(all, 2) != pixels(all, 1));
  CHECK(all[0][1] == without[0][1]);  // the same labels
}

// Tests a new loader, as in a resumed run, and a loader that has already read the epoch.
TEST_CASE("a pass that begins at any batch gives the rest of the bytes, and does not read what it skips") {
  for (const Sizes sizes : {Sizes::fixed, Sizes::varying}) {
    NumberedSamples source(47, sizes);
    const Sampler sampler(47, {.shuffle = true, .seed = 3});
    const LoaderOptions options{.batch_size = 5, .workers = 0, .prefetch = 2, .seed = 3};
    Loader reference(source, options);
    const auto all = read_pass(source, reference, sampler.order(2), 2);
    REQUIRE(all.size() == 10);
    for (const int64_t workers : {0, 1, 2, 7, 64}) {
      LoaderOptions with_workers = options;
      with_workers.workers = workers;
      Loader kept(source, with_workers);
      for (int64_t first = 0; first <= 10; ++first) {
        CAPTURE(workers);
        CAPTURE(first);
        Loader fresh(source, with_workers);
        for (Loader* loader : {&fresh, &kept}) {
          source.samples_read = 0;
          const auto rest = read_pass(source, *loader, sampler.order(2), 2, first);
          CHECK(rest == std::vector(all.begin() + first, all.end()));
          CHECK(source.samples_read == std::max<int64_t>(0, 47 - 5 * first));
        }
      }
    }
  }
}

TEST_CASE("a slow consumer never has more than the ring in flight") {
  for (const int64_t prefetch : {1, 2, 4}) {
    NumberedSamples source(100);
    Loader loader(source, {.batch_size = 4, .workers = 3, .prefetch = prefetch, .seed = 0});
    loader.start(sequential_order(100), 1);
    const int64_t ring = prefetch + 1;
    wait_until(source.samples_read, ring * 4);
    CHECK(source.samples_read == ring * 4);
    for (int64_t taken = 1; taken <= 5; ++taken) {
      REQUIRE(loader.next());
      const int64_t expected = (taken - 1 + ring) * 4;  // the batch in use still occupies a slot
      wait_until(source.samples_read, expected);
      CHECK(source.samples_read == expected);
    }
  }
}

TEST_CASE("the loader without workers reads nothing ahead") {
  NumberedSamples source(20);
  Loader loader(source, {.batch_size = 4, .workers = 0, .prefetch = 4, .seed = 0});
  loader.start(sequential_order(20), 1);
  CHECK(source.samples_read == 0);
  REQUIRE(loader.next());
  CHECK(source.samples_read == 4);
}

TEST_CASE("all workers help as soon as there is room again") {
  constexpr int kWorkers = 4;
  NumberedSamples source(100);
  std::atomic<int> waiting{0};
  std::atomic<bool> is_full{false};
  source.on_get = [&](const SampleRequest& request) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // slow enough that one worker takes only one sample
    if (request.index < 8 || request.index >= 12) return;
    if (++waiting == kWorkers) is_full = true;
    for (int i = 0; i < 3000 && !is_full; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --waiting;
  };
  Loader loader(source, {.batch_size = kWorkers, .workers = kWorkers, .prefetch = 1, .seed = 0});
  loader.start(sequential_order(100), 1);
  wait_until(source.samples_read, 8);  // the ring is full, all workers wait
  for (int batch = 0; batch < 3; ++batch) REQUIRE(loader.next());
  CHECK(is_full);
}

TEST_CASE("workers are opened once, on separate threads, with different seeds") {
  NumberedSamples source(50);
  std::mutex mutex;
  std::map<uint64_t, std::thread::id> opened;
  std::set<uint64_t> closed;
  source.on_open = [&](uint64_t id, uint64_t seed) {
    const std::lock_guard lock(mutex);
    CHECK(opened.emplace(id, std::this_thread::get_id()).second);
    CHECK(seed == derive_seed(9, StreamPurpose::worker, 2, id));
  };
  source.on_close = [&](uint64_t id) {
    const std::lock_guard lock(mutex);
    CHECK(opened.at(id) == std::this_thread::get_id());
    CHECK(closed.insert(id).second);
  };
  {
    Loader loader(source, {.batch_size = 4, .workers = 5, .prefetch = 2, .seed = 9, .rank = 2});
    CHECK(source.workers_opened == 0);
    for (int64_t epoch = 1; epoch <= 3; ++epoch) read_pass(source, loader, sequential_order(50), epoch);
  }
  CHECK(opened.size() == 5);
  CHECK(closed.size() == 5);
  std::set<std::thread::id> threads;
  for (const auto& [id, thread] : opened) threads.insert(thread);
  CHECK(threads.size() == 5);
  CHECK(threads.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("worker threads are named and leave the process's signals to others") {
  NumberedSamples source(4);
  std::atomic<bool> blocks_interrupt{false};
  std::atomic<bool> blocks_fault{true};
  std::mutex mutex;
  std::string name;
  source.on_open = [&](uint64_t, uint64_t) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocks_interrupt = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1;
    blocks_fault = sigismember(&mask, SIGSEGV) == 1;
    char text[16];
    pthread_getname_np(pthread_self(), text, sizeof text);
    const std::lock_guard lock(mutex);
    name = text;
  };
  Loader loader(source, {.batch_size = 4, .workers = 1, .prefetch = 1, .seed = 0});
  read_pass(source, loader, sequential_order(4), 1);
  CHECK(blocks_interrupt);
  CHECK_FALSE(blocks_fault);
  const std::lock_guard lock(mutex);
  CHECK(name == "tenon-data-0");
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  CHECK(sigismember(&mask, SIGINT) == 0);
}

TEST_CASE("misuse is refused and does not affect the current pass") {
  NumberedSamples source(6);
  Loader loader(source, {.batch_size = 2, .workers = 2, .prefetch = 1, .seed = 0});
  CHECK_THROWS_AS(loader.next(), tenon::support::Error);
  loader.start(sequential_order(6), 1);
  CHECK_THROWS_AS(loader.start({6}, 1), tenon::support::Error);
  CHECK_THROWS_AS(loader.start({-1}, 1), tenon::support::Error);
  CHECK_THROWS_AS(loader.start({0}, -1), tenon::support::Error);
  CHECK_THROWS_AS(loader.start({0}, 1, 2), tenon::support::Error);
  CHECK(indices_of(*loader.next()) == std::vector<int64_t>{0, 1});
}
