// Skipping of samples that cannot be read.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "framework/data/loader.h"
#include "framework/data/sampler.h"
#include "framework/support/diagnostics/error.h"
#include "tests/data/numbered_samples.h"

using namespace tenon::data;
using tenon::support::Error;
using tenon::support::ErrorKind;

namespace {

void break_samples(NumberedSamples& source, const std::set<int64_t>& broken, ErrorKind kind = ErrorKind::data) {
  source.on_get = [=](const SampleRequest& request) {
    if (broken.contains(request.index)) throw Error(kind, "sample " + std::to_string(request.index) + ": torn");
  };
}

LoaderOptions skipping(int64_t batch_size, int64_t workers) {
  return {.batch_size = batch_size, .workers = workers, .prefetch = 2, .seed = 0, .skip_bad_samples = true};
}

}  // namespace

TEST_CASE("a batch closes the gaps of any set of samples that cannot be read") {
  for (const Sizes sizes : {Sizes::fixed, Sizes::varying}) {
    for (unsigned pattern = 0; pattern < 1u << 5; ++pattern) {
      CAPTURE(pattern);
      std::set<int64_t> broken;
      std::vector<int64_t> kept;
      for (int64_t i = 0; i < 5; ++i) {
        if (pattern >> i & 1)
          broken.insert(i);
        else
          kept.push_back(i);
      }
      // The expected batch: the same samples without the broken ones.
      NumberedSamples whole(5, sizes);
      Loader reference(whole, skipping(5, 0));
      const auto expected = read_pass(whole, reference, kept, 1);

      NumberedSamples source(5, sizes);
      break_samples(source, broken);
      Loader loader(source, skipping(5, 0));
      loader.start(sequential_order(5), 1);
      const Batch* batch = loader.next();
      REQUIRE(batch);
      CHECK(batch->size == static_cast<int64_t>(kept.size()));
      CHECK(copy_batch(source, *batch) == (kept.empty() ? std::vector<std::string>() : expected.at(0)));
      std::set<int64_t> skipped;
      for (const SkippedSample& sample : batch->skipped) {
        CHECK(sample.place == sample.index);
        CHECK(sample.reason == "sample " + std::to_string(sample.index) + ": torn");
        skipped.insert(sample.index);
      }
      CHECK(skipped == broken);
      CHECK(loader.next() == nullptr);
    }
  }
}

TEST_CASE("any number of workers skips the same samples") {
  const std::vector<int64_t> order = shuffled_order(101, 7, 1);
  const std::set<int64_t> broken = {0, 3, 50, 51, 52, 100, order[9], order[10], order[100]};
  std::vector<std::vector<std::string>> expected;
  std::vector<int64_t> expected_skipped;
  for (const int64_t workers : {0, 1, 2, 7, 64}) {
    CAPTURE(workers);
    NumberedSamples source(101, Sizes::varying);
    break_samples(source, broken);
    Loader loader(source, skipping(10, workers));
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<std::vector<std::string>> batches;
      std::vector<int64_t> skipped;
      loader.start(order, 1);
      while (const Batch* batch = loader.next()) {
        batches.push_back(copy_batch(source, *batch));
        for (const SkippedSample& sample : batch->skipped) skipped.push_back(sample.index);
      }
      if (expected.empty()) {
        expected = batches;
        expected_skipped = skipped;
      }
      CHECK(batches == expected);
      CHECK(skipped == expected_skipped);
    }
  }
  // The skipped samples are sorted by place, so they are in the order of the pass.
  std::vector<int64_t> in_order;
  std::ranges::copy_if(order, std::back_inserter(in_order), [&](int64_t index) { return broken.contains(index); });
  CHECK(expected_skipped == in_order);
}

TEST_CASE("a batch without any samples left is returned empty, and the pass continues") {
  for (const Sizes sizes : {Sizes::fixed, Sizes::varying}) {
    for (const int64_t workers : {0, 3}) {
      NumberedSamples source(9, sizes);
      break_samples(source, {3, 4, 5});
      Loader loader(source, skipping(3, workers));
      loader.start(sequential_order(9), 1);
      CHECK(indices_of(*loader.next()) == std::vector<int64_t>{0, 1, 2});
      const Batch* empty = loader.next();
      REQUIRE(empty);
      CHECK(empty->size == 0);
      CHECK(empty->fields.empty());
      CHECK(empty->skipped.size() == 3);
      CHECK(indices_of(*loader.next()) == std::vector<int64_t>{6, 7, 8});
    }
  }
}

TEST_CASE("only data errors are skipped, and only if skipping is enabled") {
  for (const int64_t workers : {0, 3}) {
    NumberedSamples source(9);
    break_samples(source, {4}, ErrorKind::plugin);
    Loader strict(source, skipping(3, workers));
    strict.start(sequential_order(9), 1);
    CHECK(strict.next());
    CHECK_THROWS_AS(strict.next(), Error);

    NumberedSamples torn(9);
    break_samples(torn, {4});
    LoaderOptions options = skipping(3, workers);
    options.skip_bad_samples = false;
    Loader stopping(torn, options);
    stopping.start(sequential_order(9), 1);
    CHECK(stopping.next());
    CHECK_THROWS_AS(stopping.next(), Error);
  }
}

TEST_CASE("an error of another kind is still thrown after skipped samples") {
  NumberedSamples source(6);
  source.on_get = [](const SampleRequest& request) {
    if (request.index == 1) throw Error(ErrorKind::data, "torn");
    if (request.index == 4) throw std::runtime_error("broken");
  };
  for (const int64_t workers : {0, 1, 6}) {
    Loader loader(source, skipping(6, workers));
    loader.start(sequential_order(6), 1);
    CHECK_THROWS_WITH_AS(loader.next(), "broken", std::runtime_error);
  }
}
