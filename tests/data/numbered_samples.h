// A source for tests. Its samples record their request, and hooks make it fail, wait or record calls.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "framework/data/loader.h"
#include "framework/data/sample_source.h"

namespace tenon::data {

enum class Sizes { fixed, varying };

class NumberedSamples final : public SampleSource {
 public:
  // With varying sizes there are two more fields. The last one has -1 as padding and extents from 0 to 4.
  explicit NumberedSamples(int64_t size, Sizes sizes = Sizes::fixed);

  int64_t size() const override { return size_; }
  const std::vector<Field>& fields() const override { return fields_; }
  std::unique_ptr<Worker> open_worker(uint64_t worker_id, uint64_t seed) override;

  // Called in get() and open_worker(). Set them before start().
  std::function<void(const SampleRequest&)> on_get = [](const SampleRequest&) {};
  std::function<void(uint64_t worker_id, uint64_t seed)> on_open = [](uint64_t, uint64_t) {};
  std::function<void(uint64_t worker_id)> on_close = [](uint64_t) {};

  std::atomic<int64_t> samples_read{0};
  std::atomic<int64_t> workers_opened{0};

 private:
  class NumberedWorker;
  int64_t size_;
  std::vector<Field> fields_;
};

// A copy of a batch's shapes and bytes, one string for each field.
std::vector<std::string> copy_batch(const NumberedSamples& source, const Batch& batch);

// The extents of the last field of a sample made from this seed.
std::vector<int64_t> varying_shape(uint64_t seed);

// Copies of all batches of a pass.
std::vector<std::vector<std::string>> read_pass(NumberedSamples& source, Loader& loader,
                                                const std::vector<int64_t>& order, int64_t epoch,
                                                int64_t first_batch = 0);

// The indices of the samples of a batch.
std::vector<int64_t> indices_of(const Batch& batch);

}  // namespace tenon::data
