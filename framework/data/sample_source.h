// The source of the loader's samples: a plugin's dataset in the host, a fake in tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/components/kinds/sample_slot.h"

namespace tenon::data {

using Field = components::SampleField;
using components::SampleSlot;
using components::VaryingSample;

// The index, epoch and seed of a sample: see tenon_sample.
struct SampleRequest {
  int64_t index;
  int64_t epoch;
  uint64_t seed;
};

class SampleSource {
 public:
  // The state of one worker thread between samples. It is destroyed on that thread.
  class Worker {
   public:
    virtual ~Worker() = default;
    // Writes the sample's fields, field i to slots[i]. Throws support::Error with the sample's index.
    virtual void get(const SampleRequest& request, std::span<const SampleSlot> slots) = 0;
  };

  virtual ~SampleSource() = default;
  virtual int64_t size() const = 0;
  virtual const std::vector<Field>& fields() const = 0;
  // [worker] Called on the thread that will use the worker. `seed` depends on dataset, rank and worker id.
  virtual std::unique_ptr<Worker> open_worker(uint64_t worker_id, uint64_t seed) = 0;
};

}  // namespace tenon::data
