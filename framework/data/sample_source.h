// Where the loader gets its samples: a dataset of a plugin in the host, a few lines of a test elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenon::data {

struct Field {
  std::string name;
  int32_t dtype;               // TENON_FLOAT32 ... of tenon/abi.h
  std::vector<int64_t> shape;  // of one sample
  size_t sample_bytes;         // of one sample
};

// Which sample, and its randomness: see tenon_sample.
struct SampleRequest {
  int64_t index;
  int64_t epoch;
  uint64_t seed;
};

class SampleSource {
 public:
  // What one worker thread keeps between samples; destroyed on that thread.
  class Worker {
   public:
    virtual ~Worker() = default;
    // Writes the sample's fields, field i to slots[i] (sample_bytes of it). Throws support::Error naming the sample.
    virtual void get(const SampleRequest& request, std::span<std::byte* const> slots) = 0;
  };

  virtual ~SampleSource() = default;
  virtual int64_t size() const = 0;
  virtual const std::vector<Field>& fields() const = 0;
  // [worker] Called on the thread that will use the worker. `seed` is of (dataset, rank, worker id).
  virtual std::unique_ptr<Worker> open_worker(uint64_t worker_id, uint64_t seed) = 0;
};

}  // namespace tenon::data
