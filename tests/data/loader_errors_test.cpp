// Errors on worker threads reach the consumer unchanged and with the right batch.
#include <doctest/doctest.h>

#include <set>
#include <stdexcept>
#include <thread>

#include "framework/data/loader.h"
#include "framework/data/sampler.h"
#include "tests/data/numbered_samples.h"

using namespace tenon::data;

namespace {

struct BrokenSample : std::runtime_error {
  explicit BrokenSample(int64_t index) : std::runtime_error("sample " + std::to_string(index)), index(index) {}
  int64_t index;
};

void throw_at(NumberedSamples& source, std::set<int64_t> broken) {
  source.on_get = [broken = std::move(broken)](const SampleRequest& request) {
    if (broken.count(request.index)) throw BrokenSample(request.index);
  };
}

struct Outcome {
  int64_t batches = 0;
  int64_t failed_index = -1;
  bool operator==(const Outcome&) const = default;
};

Outcome read_until_error(Loader& loader, const std::vector<int64_t>& order) {
  Outcome outcome;
  loader.start(order, 1);
  try {
    while (loader.next()) ++outcome.batches;
  } catch (const BrokenSample& error) {
    outcome.failed_index = error.index;
  }
  return outcome;
}

}  // namespace

TEST_CASE("an error at any position comes with its batch, and the next pass works") {
  for (const int64_t workers : {0, 1, 3, 8}) {
    NumberedSamples source(23);
    Loader loader(source, {.batch_size = 5, .workers = workers, .prefetch = 2, .seed = 0});
    for (int64_t broken = 0; broken < 23; ++broken) {
      CAPTURE(workers);
      CAPTURE(broken);
      loader.start({}, 1);  // no worker reads while the test changes the source
      throw_at(source, {broken});
      CHECK(read_until_error(loader, sequential_order(23)) == Outcome{broken / 5, broken});
      loader.start({}, 1);
      throw_at(source, {});
      CHECK(read_until_error(loader, sequential_order(23)) == Outcome{5, -1});
    }
  }
}

TEST_CASE("the error at the first position is thrown, for any number of workers") {
  const std::vector<int64_t> order = shuffled_order(40, 1, 1);
  const std::set<int64_t> broken = {order[13], order[14], order[17], order[18], order[25]};
  for (const int64_t workers : {0, 1, 2, 7, 64}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      NumberedSamples source(40);
      source.on_get = [&](const SampleRequest& request) {
        if (request.index == order[13]) std::this_thread::sleep_for(std::chrono::microseconds(200));
        if (broken.count(request.index)) throw BrokenSample(request.index);
      };
      Loader loader(source, {.batch_size = 10, .workers = workers, .prefetch = 2, .seed = 0});
      CHECK(read_until_error(loader, order) == Outcome{1, order[13]});
    }
  }
}

TEST_CASE("a pass that failed stays failed until another is started") {
  NumberedSamples source(4);
  throw_at(source, {1});
  for (const int64_t workers : {0, 2}) {
    Loader loader(source, {.batch_size = 2, .workers = workers, .prefetch = 1, .seed = 0});
    loader.start(sequential_order(4), 1);
    CHECK_THROWS_AS(loader.next(), BrokenSample);
    CHECK_THROWS_AS(loader.next(), BrokenSample);
    loader.start({2, 3}, 1);
    CHECK(indices_of(*loader.next()) == std::vector<int64_t>{2, 3});
  }
}

TEST_CASE("the error need not be a std::exception") {
  NumberedSamples source(4);
  source.on_get = [](const SampleRequest&) { throw 42; };
  Loader loader(source, {.batch_size = 2, .workers = 2, .prefetch = 1, .seed = 0});
  loader.start(sequential_order(4), 1);
  CHECK_THROWS_AS(loader.next(), int);
}

TEST_CASE("a loader may be destroyed with an error that was never thrown") {
  NumberedSamples source(4);
  throw_at(source, {0});
  Loader loader(source, {.batch_size = 2, .workers = 2, .prefetch = 1, .seed = 0});
  loader.start(sequential_order(4), 1);
  while (source.samples_read == 0) std::this_thread::yield();
}

TEST_CASE("a worker that fails to open fails the pass, and the next pass tries again") {
  for (const int64_t workers : {0, 1, 4}) {
    NumberedSamples source(20);
    std::atomic<bool> broken{true};
    source.on_open = [&](uint64_t id, uint64_t) {
      if (broken && id + 2 >= static_cast<uint64_t>(workers)) throw BrokenSample(static_cast<int64_t>(id));
    };
    Loader loader(source, {.batch_size = 5, .workers = workers, .prefetch = 2, .seed = 0});
    // Two workers fail. The error of the smaller id is thrown.
    CHECK(read_until_error(loader, sequential_order(20)) == Outcome{0, workers == 4 ? 2 : 0});
    CHECK_THROWS_AS(loader.next(), BrokenSample);
    broken = false;
    CHECK(read_until_error(loader, sequential_order(20)) == Outcome{4, -1});
    CHECK(source.workers_opened == std::max<int64_t>(workers, 1));  // workers that opened the first time were kept
  }
}

TEST_CASE("a worker that fails to open late still fails the pass before its first batch") {
  NumberedSamples source(20);
  source.on_open = [](uint64_t id, uint64_t) {
    if (id == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    throw BrokenSample(1);
  };
  Loader loader(source, {.batch_size = 5, .workers = 2, .prefetch = 2, .seed = 0});
  CHECK(read_until_error(loader, sequential_order(20)) == Outcome{0, 1});
}

TEST_CASE("a source that gives no worker is reported") {
  struct Empty final : SampleSource {
    int64_t size() const override { return 4; }
    const std::vector<Field>& fields() const override { return none; }
    std::unique_ptr<Worker> open_worker(uint64_t, uint64_t) override { return nullptr; }
    std::vector<Field> none;
  } source;
  Loader loader(source, {.batch_size = 2, .workers = 1, .prefetch = 1, .seed = 0});
  loader.start(sequential_order(4), 1);
  CHECK_THROWS(loader.next());
}
