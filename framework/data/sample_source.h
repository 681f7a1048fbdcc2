// The samples that the loader reads, and the batches that it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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

// The source of the loader's samples: a plugin's dataset in the host, a fake in tests.
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

// A sample that could not be read and was left out.
struct SkippedSample {
  int64_t place;       // within its batch, counting the skipped samples
  int64_t index;       // within the dataset
  std::string reason;  // the error's text
};

// One batch, valid until the loader's next() or start() is called again.
struct Batch {
  // C-contiguous. A sample that is smaller than the largest of its batch starts at index 0 of every dimension. The
  // field's padding fills the rest.
  struct Field {
    std::byte* data;             // never null
    std::vector<int64_t> shape;  // [size, extents of a sample...]
    bool is_padded = false;      // whether a sample was smaller
    // The extents of each sample along the dimensions of -1, [size, number of these]; empty if none varies.
    std::vector<int64_t> lengths = {};
  };

  int64_t size;  // samples; smaller at the end of an epoch or if samples were skipped, 0 if all were skipped
  std::vector<Field> fields;                // empty if the size is 0
  std::vector<SkippedSample> skipped = {};  // ordered by place
};

}  // namespace tenon::data
