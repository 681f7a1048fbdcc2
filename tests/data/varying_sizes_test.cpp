// The loader with samples of different sizes.
#include <doctest/doctest.h>

#include <random>
#include <stdexcept>
#include <thread>

#include "framework/data/loader.h"
#include "framework/data/sampler.h"
#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/error.h"
#include "tests/data/numbered_samples.h"

using namespace tenon::data;

namespace {

using TextBatches = std::vector<std::vector<std::string>>;

TextBatches read_with(Sizes sizes, int64_t workers, int64_t prefetch, int64_t size, int64_t batch_size) {
  NumberedSamples source(size, sizes);
  Loader loader(source, {.batch_size = batch_size, .workers = workers, .prefetch = prefetch, .seed = 11});
  TextBatches batches = read_pass(source, loader, shuffled_order(size, 11, 1), 1);
  for (auto& batch : read_pass(source, loader, shuffled_order(size, 11, 2), 2)) batches.push_back(std::move(batch));
  return batches;
}

}  // namespace

TEST_CASE("samples of different sizes give the same bytes for any number of workers") {
  for (const int64_t size : {1, 7, 101}) {
    for (const int64_t batch_size : {1, 10}) {
      const auto expected = read_with(Sizes::varying, 0, 1, size, batch_size);
      CHECK(static_cast<int64_t>(expected.size()) == 2 * ((size + batch_size - 1) / batch_size));
      for (const int64_t workers : {1, 2, 7, 64}) {
        for (const int64_t prefetch : {1, 3}) {
          CAPTURE(size);
          CAPTURE(batch_size);
          CAPTURE(workers);
          CAPTURE(prefetch);
          CHECK(read_with(Sizes::varying, workers, prefetch, size, batch_size) == expected);
        }
      }
    }
  }
}

TEST_CASE("fixed-size fields are the same with and without varying-size fields") {
  for (const int64_t workers : {0, 2}) {
    const TextBatches alone = read_with(Sizes::fixed, workers, 2, 53, 10);
    const TextBatches batched = read_with(Sizes::varying, workers, 2, 53, 10);
    REQUIRE(alone.size() == batched.size());
    for (size_t i = 0; i < alone.size(); ++i)
      CHECK(alone[i] == std::vector(batched[i].begin(), batched[i].begin() + 3));
  }
}

TEST_CASE("each sample is complete and padded to the largest of its batch") {
  for (const int64_t workers : {0, 3}) {
    NumberedSamples source(95, Sizes::varying);
    Loader loader(source, {.batch_size = 4, .workers = workers, .prefetch = 2, .seed = 3});
    loader.start(sequential_order(95), 1);
    int64_t index = 0;
    while (const Batch* batch = loader.next()) {
      std::vector<int64_t> expected_shape{batch->size, 0, 3, 0};
      std::vector<std::vector<int64_t>> shapes;
      for (int64_t i = 0; i < batch->size; ++i) {
        const auto number = static_cast<uint64_t>(index + i);
        shapes.push_back(
            varying_shape(tenon::support::derive_seed(3, tenon::support::StreamPurpose::sample, 1, number)));
        for (const size_t d : {0, 2}) expected_shape[d + 1] = std::max(expected_shape[d + 1], shapes.back()[d]);
      }
      const Batch::Field& block = batch->fields[4];
      REQUIRE(block.shape == expected_shape);
      CHECK(block.is_padded == std::ranges::any_of(shapes, [&](const std::vector<int64_t>& shape) {
              return !std::equal(shape.begin(), shape.end(), expected_shape.begin() + 1);
            }));
      CHECK_FALSE(batch->fields[0].is_padded);
      const auto* element = reinterpret_cast<const int32_t*>(block.data);
      int64_t wrong = 0;
      for (const auto& shape : shapes) {
        for (int64_t i = 0; i < expected_shape[1]; ++i)
          for (int64_t j = 0; j < 3; ++j)
            for (int64_t k = 0; k < expected_shape[3]; ++k)
              wrong += *element++ != (i < shape[0] && k < shape[2] ? static_cast<int32_t>(index) : -1);
        ++index;
      }
      CHECK(wrong == 0);
    }
    CHECK(index == 95);
  }
}

TEST_CASE("a pass over samples of different sizes may be abandoned at any point") {
  const auto expected = [] {
    NumberedSamples source(60, Sizes::varying);
    Loader loader(source, {.batch_size = 5, .workers = 0, .prefetch = 1, .seed = 2});
    return read_pass(source, loader, shuffled_order(60, 2, 2), 2);
  }();
  std::mt19937 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    CAPTURE(trial);
    NumberedSamples source(60, Sizes::varying);
    source.on_get = [](const SampleRequest& request) {
      if (request.index % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(request.index));
    };
    Loader loader(source, {.batch_size = 5, .workers = 1 + trial % 4, .prefetch = 2, .seed = 2});
    loader.start(shuffled_order(60, 2, 1), 1);
    for (uint64_t left = random() % 13; left > 0; --left) loader.next();
    CHECK(read_pass(source, loader, shuffled_order(60, 2, 2), 2) == expected);
  }
}

TEST_CASE("a failed sample leaves its batch unpadded and fails the pass at that batch") {
  for (const int64_t workers : {0, 1, 3}) {
    for (int64_t broken = 0; broken < 12; ++broken) {
      NumberedSamples source(12, Sizes::varying);
      source.on_get = [&](const SampleRequest& request) {
        if (request.index == broken) throw std::runtime_error("broken");
      };
      Loader loader(source, {.batch_size = 4, .workers = workers, .prefetch = 2, .seed = 0});
      loader.start(sequential_order(12), 1);
      for (int64_t batch = 0; batch < broken / 4; ++batch) REQUIRE(loader.next());
      CHECK_THROWS_AS(loader.next(), std::runtime_error);
    }
  }
}

TEST_CASE("a batch that does not fit into memory fails the pass at that batch, and the next pass works") {
  // Two samples without elements. Their block would have 2^78 elements.
  struct Huge final : SampleSource {
    struct Reader final : Worker {
      void get(const SampleRequest& request, std::span<const SampleSlot> slots) override {
        const int64_t many = int64_t{1} << 39;
        const bool is_huge = request.index >= 2 && request.epoch == 1;
        slots[0].varying->resize(request.index % 2 ? std::vector<int64_t>{is_huge ? many : 1, 0}
                                                   : std::vector<int64_t>{0, is_huge ? many : 1},
                                 0);
      }
    };
    int64_t size() const override { return 4; }
    const std::vector<Field>& fields() const override { return fields_; }
    std::unique_ptr<Worker> open_worker(uint64_t, uint64_t) override { return std::make_unique<Reader>(); }
    std::vector<Field> fields_{{"huge", 1, {-1, -1}, 1, 0}};
  } source;
  for (const int64_t workers : {0, 1, 2}) {
    Loader loader(source, {.batch_size = 2, .workers = workers, .prefetch = 2, .seed = 0});
    loader.start(sequential_order(4), 1);
    REQUIRE(loader.next());
    CHECK_THROWS_AS(loader.next(), tenon::support::Error);
    loader.start(sequential_order(4), 2);
    REQUIRE(loader.next());
    const Batch* batch = loader.next();
    REQUIRE(batch);
    CHECK(batch->fields[0].shape == std::vector<int64_t>{2, 1, 1});
    CHECK(loader.next() == nullptr);
  }
}
