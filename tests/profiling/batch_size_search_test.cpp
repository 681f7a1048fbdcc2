#include "framework/profiling/batch_size_search.h"

#include "framework/profiling/profile_model.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::profiling;

namespace {

// A model with a peak of `fixed` bytes and `per_sample` for each sample, of which half is kept for backward. Records
// the sizes that were measured.
struct FakeModel {
  int64_t fixed = 1000;
  int64_t per_sample = 10;
  int64_t least_peak = 0;           // such as that of the optimizer
  int64_t runs_out_from = 1 << 30;  // the memory runs out for these sizes
  std::vector<int64_t> measured = {};

  int64_t peak(int64_t batch_size) const { return std::max(least_peak, fixed + per_sample * batch_size); }

  BatchSizeSearch search(const BatchSizeLimits& limits) {
    return search_batch_size(limits, [&](int64_t batch_size) -> std::optional<BatchSizeTrial> {
      measured.push_back(batch_size);
      if (batch_size >= runs_out_from) return std::nullopt;
      return BatchSizeTrial{batch_size, fixed, per_sample * batch_size / 2, peak(batch_size), 0.001};
    });
  }
};

constexpr int64_t kManySamples = 1'000'000;

}  // namespace

TEST_CASE("the batch size is doubled, and then a multiple of 8 is searched, without exceeding the limit") {
  FakeModel model;
  const BatchSizeSearch search = model.search({1000 + 10 * 101, kManySamples});
  CHECK(search.largest == 96);
  CHECK_FALSE(search.has_all_samples);
  CHECK(model.measured == std::vector<int64_t>{2, 4, 8, 16, 32, 64, 96});
  REQUIRE(search.trials.size() == 7);
  CHECK(search.trials.back().batch_size == 96);
}

TEST_CASE("the largest multiple of 8 within a limit is found for every limit") {
  for (int64_t most = 2; most < 300; ++most) {
    CAPTURE(most);
    FakeModel model;
    const int64_t limit = model.peak(most);
    CHECK(model.search({limit, kManySamples}).largest == (most < 8 ? most : most / 8 * 8));
    for (const int64_t measured : model.measured) CHECK(model.peak(measured) <= limit);
  }
}

TEST_CASE("a batch is not larger than the number of samples") {
  for (const int64_t samples : {1, 2, 3, 8, 11, 100, 128}) {
    CAPTURE(samples);
    FakeModel model;
    const BatchSizeSearch search = model.search({1'000'000'000, samples});
    CHECK(search.largest == samples);
    CHECK(search.has_all_samples);
  }
  FakeModel model;
  const BatchSizeSearch search = model.search({model.peak(90), 100});
  CHECK(search.largest == 88);
  CHECK_FALSE(search.has_all_samples);
}

TEST_CASE("one sample is tried if two do not fit, and nothing may fit") {
  FakeModel one;
  CHECK(one.search({one.peak(1), kManySamples}).largest == 1);
  FakeModel none;
  const BatchSizeSearch search = none.search({1000, kManySamples});
  CHECK(search.largest == 0);
  CHECK(none.measured == std::vector<int64_t>{2, 1});
  REQUIRE(search.trials.size() == 2);
  CHECK(search.trials.front().batch_size == 1);
}

TEST_CASE("a peak that does not grow at first is not taken for one that never grows") {
  FakeModel model;
  model.least_peak = model.peak(40);
  const int64_t limit = model.peak(50);
  CHECK(model.search({limit, kManySamples}).largest == 48);
  // Half of the slope is known from the start.
  for (const int64_t measured : model.measured) CHECK(measured <= 64);
}

TEST_CASE("a size for which the memory runs out does not fit") {
  FakeModel model;
  model.runs_out_from = 51;
  const BatchSizeSearch search = model.search({1'000'000'000, kManySamples});
  CHECK(search.largest == 48);
  CHECK(search.trials.size() == 6);
}

TEST_CASE("the measured memory of a training step follows from the sizes of the model") {
  const auto profile = [](const std::string& batch_size) {
    tenon::pipeline::BuiltRun run({{"data.batch_size=" + batch_size, "optimizer={use=\"adamw\", lr=0.001}"}});
    return profile_steps(*run.training, 1);
  };
  const StepProfile small = profile("64"), large = profile("256");
  const int64_t weights = 4 * (64 * 16 + 16 + 16 * 10 + 10);
  CHECK(small.batch_size == 64);
  CHECK(small.fixed_bytes >= 3 * weights);
  CHECK(small.fixed_bytes < 3 * weights + 4096);
  CHECK(large.fixed_bytes == small.fixed_bytes);
  CHECK(small.batch_bytes >= 64 * 4 * 64);
  CHECK(large.batch_bytes == 4 * small.batch_bytes);
  // The outputs of both layers; the input is there before.
  CHECK(large.saved_bytes - small.saved_bytes >= 192 * 4 * (16 + 10));
  CHECK(large.saved_bytes - small.saved_bytes <= 192 * 4 * 2 * (16 + 10));
  CHECK(large.peak_bytes - small.peak_bytes >= large.saved_bytes - small.saved_bytes);
  CHECK(large.peak_bytes - small.peak_bytes < 192 * 4 * (64 + 16 + 10) * 4);
}
