// Where the loader gets its samples: a dataset of a plugin in the host, a few lines of a test elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/plugins/sample_slot.h"

namespace tenon::data {

using Field = plugins::SampleField;
using plugins::SampleSlot;
using plugins::VaryingSample;

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
    // Writes the sample's fields, field i to slots[i]. Throws support::Error naming the sample.
    virtual void get(const SampleRequest& request, std::span<const SampleSlot> slots) = 0;
  };

  virtual ~SampleSource() = default;
  virtual int64_t size() const = 0;
  virtual const std::vector<Field>& fields() const = 0;
  // [worker] Called on the thread that will use the worker. `seed` is of (dataset, rank, worker id).
  virtual std::unique_ptr<Worker> open_worker(uint64_t worker_id, uint64_t seed) = 0;
};

}  // namespace tenon::data
